package reference

import (
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/agent/settings"
)

// Settings returns the table of docs/reference/settings.md: a row for each option of a run.
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

// verbs returns the verbs of a setting, in the order of the page.
func verbs(s settings.Setting) (names []string, all []settings.Use) {
	return []string{"run", "join", "submit"}, []settings.Use{s.Run, s.Join, s.Submit}
}

// uses returns the verbs that have the setting, and the help text of the first one.
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

// defaults returns the default of a setting: one for all verbs, or one for each verb if they differ. -1 means no
// value.
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

// takes describes the value that a user types for a kind.
func takes(kind settings.Kind) string {
	switch kind {
	case settings.Switch:
		return "nothing"
	case settings.Names:
		return "a,b,c"
	case settings.List:
		return "a list in JSON"
	case settings.Repeated, settings.Rule:
		return "text, repeatable"
	default:
		return string(kind)
	}
}

// code formats a word as code. It returns "" for an empty word.
func code(word string) string {
	if word == "" {
		return ""
	}
	return "`" + cell(word) + "`"
}

// cell escapes a text for a cell of a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
