package man

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Page is one manual page.
type Page struct {
	Name    string // agent-run
	About   string // its purpose; "": the first sentence of Help
	Version string
	At      time.Time
	Help    string   // the output of --help-all
	All     []string // the names of all pages
}

// option matches a line of a table: a flag or an exit code, at least two spaces, and its meaning.
var option = regexp.MustCompile(`^ {2,6}(\S.*?) {2,}(\S.*)$`)

// section is a part of the help: a heading, and the lines indented below it.
type section struct {
	title string
	lines []string
}

// Roff returns the page in the language of man(7).
func (p Page) Roff() string {
	usage, paragraphs, examples, sections := parse(p.Help)
	about := p.About
	if about == "" && len(paragraphs) > 0 {
		about, _, _ = strings.Cut(strings.Join(strings.Fields(paragraphs[0]), " "), ". ")
		about = strings.ToLower(about[:1]) + strings.TrimSuffix(about[1:], ".")
	}
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 %s \"Muster %s\" \"User Commands\"\n", strings.ToUpper(p.Name), p.At.UTC().Format(time.DateOnly), p.Version)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n", escaped(p.Name), escaped(about))
	for i, line := range usage {
		if i > 0 {
			b.WriteString(".br\n")
		}
		b.WriteString(escaped(strings.TrimSpace(line)) + "\n")
	}
	for i, text := range paragraphs {
		b.WriteString([]string{".SH DESCRIPTION\n", ".PP\n"}[min(i, 1)])
		for line := range strings.Lines(text) {
			b.WriteString(escaped(strings.TrimSpace(line)) + "\n")
		}
	}
	options := false
	for _, s := range sections {
		switch title := strings.ToLower(s.title); {
		case strings.HasPrefix(title, "example"):
			examples = append(examples, s.lines...)
			continue
		case strings.HasPrefix(title, "exit code"):
			b.WriteString(".SH EXIT STATUS\n")
		default:
			if !options {
				b.WriteString(".SH " + map[bool]string{true: "VERBS", false: "OPTIONS"}[p.Name == "agent"] + "\n")
				options = true
			}
			b.WriteString(".SS " + escaped(s.title) + "\n")
		}
		b.WriteString(table(s.lines))
	}
	if len(examples) > 0 {
		b.WriteString(".SH EXAMPLES\n.EX\n")
		for _, line := range examples {
			b.WriteString(escaped(strings.TrimPrefix(line, "  ")) + "\n")
		}
		b.WriteString(".EE\n")
	}
	b.WriteString(".SH SEE ALSO\n")
	others := slices.DeleteFunc(slices.Clone(p.All), func(name string) bool { return name == p.Name })
	for i, name := range others {
		end := ",\n"
		if i == len(others)-1 {
			end = "\n"
		}
		fmt.Fprintf(&b, ".BR %s (1)%s", escaped(name), end)
	}
	return b.String()
}

// parse splits a help text into usage, paragraphs, examples without a heading, and sections.
func parse(help string) (usage, paragraphs, examples []string, sections []section) {
	for _, block := range strings.Split(strings.TrimSpace(help), "\n\n") {
		lines := strings.Split(strings.TrimRight(block, "\n"), "\n")
		first, indented := lines[0], len(lines) > 1 && strings.HasPrefix(lines[1], "  ")
		switch words, code := strings.CutPrefix(first, "Exit codes: "); {
		case strings.HasPrefix(strings.ToLower(first), "usage:"):
			usage = append([]string{first[len("usage:"):]}, lines[1:]...)
			usage = slices.DeleteFunc(usage, func(line string) bool { return strings.TrimSpace(line) == "" })
		case code: // exit codes of the small binary, in a sentence
			lines[0] = words
			sections = append(sections, section{"exit codes", lines})
		case strings.HasPrefix(first, "  ") && option.MatchString(first) && len(sections) > 0:
			sections = append(sections, section{"other", lines})
		case strings.HasPrefix(first, "  "):
			examples = append(examples, lines...)
		case indented:
			sections = append(sections, section{strings.TrimSuffix(first, ":"), lines[1:]})
		default:
			paragraphs = append(paragraphs, block)
		}
	}
	return usage, paragraphs, examples, sections
}

// table formats the lines of a section: each flag or code with its meaning. It keeps other lines as they are.
func table(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		if m := option.FindStringSubmatch(line); m != nil {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", escaped(m[1]), escaped(m[2]))
			continue
		}
		b.WriteString(escaped(strings.TrimSpace(line)) + "\n")
	}
	return b.String()
}

// escaped escapes a text so that roff prints it unchanged. A line must not begin with a command.
func escaped(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, `"`, `\(dq`, "^", `\(ha`, "~", `\(ti`, "`", `\(ga`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
