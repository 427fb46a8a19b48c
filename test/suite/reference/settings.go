package reference

import (
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/agent/settings"
)

// Settings is the table of docs/reference/settings.md: a row for each option of a run.
func Settings() string {
	var b strings.Builder
	b.WriteString("| flag | takes | default | variable | field of a LaunchJob | used by | what it does |\n|---|---|---|---|---|---|---|\n")
	for s := range settings.All() {
		flag := "`--" + s.Name + "`"
		if s.Short != "" {
			flag += ", `-" + s.Short + "`"
		}
		verbs, help := uses(s)
		fmt.Fprintf(&b, "| %s | %s | %s | `%s` | %s | %s | %s |\n", flag, takes(s.Kind), defaults(s),
			settings.Variable(s.Name), code(s.Field), strings.Join(verbs, ", "), cell(strings.ReplaceAll(help, "`", "")))
	}
	return b.String()
}

// verbs of a setting, in the order of the page.
func verbs(s settings.Setting) (names []string, all []settings.Use) {
	return []string{"run", "join", "submit"}, []settings.Use{s.Run, s.Join, s.Submit}
}

// uses lists the verbs that have the setting, and says what it does in the words of the first.
func uses(s settings.Setting) (found []string, help string) {
	names, all := verbs(s)
	for i, use := range all {
		if use.Help == "" {
			continue
		}
		if found = append(found, names[i]); help == "" {
			help = use.Help
		}
	}
	return found, help
}

// defaults says what a setting is by itself: for each verb, unless they agree. -1 stands for
// no value.
func defaults(s settings.Setting) string {
	var same, each []string
	names, all := verbs(s)
	used := 0
	for i, use := range all {
		if use.Help != "" {
			used++
		}
		if use.Help == "" || use.Default == "" || use.Default == "-1" {
			continue
		}
		same = append(same, code(use.Default))
		each = append(each, names[i]+" "+code(use.Default))
	}
	if len(same) == used && len(slices.Compact(same)) == 1 {
		return same[0]
	}
	return strings.Join(each, ", ")
}

// takes says what a user types for a kind.
func takes(kind settings.Kind) string {
	switch kind {
	case settings.Switch:
		return "nothing"
	case settings.Names:
		return "a,b,c"
	case settings.Repeated, settings.Rule:
		return "text, repeatable"
	default:
		return string(kind)
	}
}

// code sets a word as code; there is none for the empty one.
func code(word string) string {
	if word == "" {
		return ""
	}
	return "`" + cell(word) + "`"
}

// cell keeps a text in its column.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
