package reference

import (
	"fmt"
	"strings"

	"github.com/musterhq/muster/agent/settings"
	"github.com/musterhq/muster/agent/submit"
	"github.com/musterhq/muster/test/suite/variables"
)

// variablesParts lists the generated places of docs/reference/variables.md. Each is an error while the
// source of the product and the tables of package variables differ.
func variablesParts(root string) []part {
	const page = "docs/reference/variables.md"
	agreed := func(body func() (string, error)) func() (string, error) {
		return func() (string, error) {
			source, err := variables.Collect(root)
			if err != nil {
				return "", err
			}
			faults, err := variables.Faults(source)
			if err == nil && len(faults) > 0 {
				err = fmt.Errorf("the source and test/suite/variables differ:\n%s", strings.Join(faults, "\n"))
			}
			if err != nil {
				return "", err
			}
			return body()
		}
	}
	table := func(rows []variables.Set, more string) func() (string, error) {
		return func() (string, error) { return setTable(rowsOf(rows)) + more, nil }
	}
	return []part{
		{page, "reads", agreed(func() (string, error) { return ownReads(), nil })},
		{page, "processes", func() (string, error) { return readsOfProcesses(), nil }},
		{page, "always", table(variables.Always(), "")},
		{page, "frameworks", frameworkSections},
		{page, "compat", compatSections},
		{page, "controller", table(variables.ByController(), "\n"+fieldsOfLauncher())},
		{page, "submit", table(variables.BySubmit(), "\n"+flagsOfSubmit())},
		{page, "convert", table(variables.ByConvert(), "")},
	}
}

// ownReads is the table of the variables that programs read.
func ownReads() string {
	var b strings.Builder
	b.WriteString("| variable | read by | default | flag | meaning |\n|---|---|---|---|---|\n")
	for _, r := range variables.Own() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", r.Name, r.By, r.Default, linked(r.Same), cell(r.Meaning))
	}
	return b.String()
}

// linked links the flag of a setting to its row.
func linked(flag string) string {
	for s := range settings.All() {
		if flag == "`--"+s.Name+"`" {
			return "[" + flag + "](settings.md#all-settings)"
		}
	}
	return flag
}

func readsOfProcesses() string {
	var b strings.Builder
	b.WriteString("| variable | meaning |\n|---|---|\n")
	for _, r := range variables.OfProcesses() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", r.Name, cell(r.Meaning))
	}
	return b.String()
}

func rowsOf(sets []variables.Set) (rows []variables.Row) {
	for _, s := range sets {
		rows = append(rows, s.Row)
	}
	return rows
}

// setTable is a table of variables that Muster sets.
func setTable(rows []variables.Row) string {
	var b strings.Builder
	b.WriteString("| variable | set for | example | meaning |\n|---|---|---|---|\n")
	for _, r := range rows {
		example := code(r.Example)
		switch r.Example {
		case "":
			example = "empty"
		case variables.Secret:
			example = r.Example
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", strings.ReplaceAll(r.Name, "…", "NAME"), r.On, example, cell(r.Meaning))
	}
	return b.String()
}

// frameworkSections has a table of the variables that many frameworks share, and a section for each way to
// start a program.
func frameworkSections() (string, error) {
	native, _, shared, err := variables.Frameworks()
	if err != nil {
		return "", err
	}
	return "### Several frameworks\n\n" + setTable(shared) + "\n" + sections(native), nil
}

func compatSections() (string, error) {
	_, compat, _, err := variables.Frameworks()
	if err != nil {
		return "", err
	}
	return sections(compat), nil
}

func sections(all []variables.Section) string {
	var b strings.Builder
	for _, s := range all {
		fmt.Fprintf(&b, "### %s\n\n`%s`\n\n%s\n", s.Title, s.Command, setTable(s.Rows))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// fieldsOfLauncher lists the settings that the controller passes on to a launcher.
func fieldsOfLauncher() string {
	rows := "A launcher also gets the variable of each of these fields that the job sets:\n\n| field of a LaunchJob | variable |\n|---|---|\n"
	for s := range settings.Of(settings.OfRun) {
		field := s.Field
		if s.Name == "roles" { // the controller makes it of the names and numbers of the roles
			field = "roles"
		}
		if field != "" && s.Name != "workers" { // the controller counts the pods of all roles
			rows += fmt.Sprintf("| `%s` | `%s` |\n", field, settings.Variable(s.Name))
		}
	}
	return rows
}

// flagsOfSubmit lists the settings that agent submit writes into the environment of the launcher.
func flagsOfSubmit() string {
	fields := settings.Fields(&submit.Request{})
	rows := "The launcher also gets the variable of each of these flags that you give:\n\n| flag of agent submit | variable |\n|---|---|\n"
	for s := range settings.Of(settings.OfSubmit) {
		if fields[s.Name] == nil && s.Kind != settings.Rule {
			rows += fmt.Sprintf("| [`--%s`](settings.md#all-settings) | `%s` |\n", s.Name, settings.Variable(s.Name))
		}
	}
	return rows
}
