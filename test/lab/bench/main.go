package main

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/musterhq/muster/test/lab/bench/picture"
	"github.com/musterhq/muster/test/lab/bench/report"
	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/page"
)

func main() {
	comparison := flag.String("page", "", "update the comparison table in `FILE` [none]")
	docs := flag.String("docs", "", "write the page and its pictures to `DIR` [docs/explanation/bench]")
	flag.Parse()
	if err := run(*comparison, *docs); err != nil {
		fmt.Fprintln(os.Stderr, "bench: "+err.Error())
		os.Exit(1)
	}
}

func run(comparison, docs string) error {
	out, err := figure.Dir()
	if err != nil {
		return err
	}
	if docs == "" {
		root, err := figure.Root()
		if err != nil {
			return err
		}
		docs = filepath.Join(root, "docs", "explanation", "bench")
	}
	all, err := report.Read(out)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; nothing is changed (run make bench first)", err)
	}
	if err != nil {
		return err
	}
	for _, t := range all {
		fmt.Println(t.Text())
	}
	if err := report.Write(out, all); err != nil {
		return err
	}
	bars, err := figure.Read(out)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := writeDocs(docs, all, bars); err != nil {
		return err
	}
	if comparison == "" {
		return nil
	}
	table, ok := compared(all)
	if !ok {
		fmt.Fprintln(os.Stderr, "bench: no table of the comparison was measured; "+comparison+" stays as it is")
		return nil
	}
	return page.Put(comparison, "compared", table)
}

// writeDocs writes the page, and a picture for each table. It removes the pictures of tables that
// no longer exist.
func writeDocs(dir string, all []report.Table, bars []figure.Row) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(dir, "*.svg"))
	if err != nil {
		return err
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	drawn := map[string]bool{}
	for _, t := range all {
		svg, err := picture.Draw(t)
		if err != nil {
			return err
		}
		if svg == nil {
			continue
		}
		drawn[t.Name] = true
		if err := os.WriteFile(filepath.Join(dir, t.Name+".svg"), svg, 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "README.md"), []byte(docsPage(all, bars, drawn)), 0o644)
}

// docsPage returns the text of docs/explanation/bench/README.md.
func docsPage(all []report.Table, bars []figure.Row, drawn map[string]bool) string {
	var b strings.Builder
	b.WriteString("# Benchmarks\n\nAfter this page you can compare Muster with mpi-operator, and know what Muster costs.\n\n`make bench` measures all of it and writes this page; out/bench.json has every sample. Cells are medians, followed by the smallest and the largest sample.\n" +
		"Contenders of one table took turns within one run. If two tables differ in a condition, their notes say so.\n\n")
	b.WriteString(barsTable(bars))
	for _, t := range all {
		fmt.Fprintf(&b, "## %s\n", t.Title)
		if t.Command != "" {
			fmt.Fprintf(&b, "`%s`\n", t.Command)
		}
		b.WriteString("\n")
		if drawn[t.Name] {
			fmt.Fprintf(&b, "![%s](%s.svg)\n\n", strings.NewReplacer("[", "(", "]", ")").Replace(t.Title), t.Name)
		}
		b.WriteString(t.Markdown() + "\n")
		for _, n := range t.Notes {
			b.WriteString("- " + n + "\n")
		}
		if len(t.Notes) > 0 {
			b.WriteString("\n")
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// barsTable returns a table of the figures of out/SUITE.json that make bench measures, each with its bar.
func barsTable(rows []figure.Row) string {
	var b strings.Builder
	for _, r := range rows {
		if !strings.HasPrefix(r.Command, "make bench") {
			continue
		}
		bar, verdict := "", ""
		if r.Op != "" {
			bar, verdict = r.Op+" "+report.Number(r.Bar), "held"
			if !r.Pass {
				verdict = "**missed**"
			}
		}
		value := strings.TrimSpace(report.Number(r.Value) + " " + r.Unit)
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", strings.ReplaceAll(r.Name, "|", `\|`), value, bar, verdict)
	}
	if b.Len() == 0 {
		return ""
	}
	return "## Bars\nThese figures are from out/SUITE.json of the same run.\n\n| figure | value | bar | |\n|---|---:|---:|---|\n" + b.String() + "\n"
}

//go:embed compared.md
var properties string

// comparison is a measured table that provides lines of docs/explanation/comparison.md.
type comparison struct {
	table string
	drawn bool              // use only the columns that the picture shows
	least bool              // use the smallest size, not the largest
	names map[string]string // longer names of columns whose own name is unclear without the table's title
}

func comparisons() []comparison {
	return []comparison{
		{table: "launch", names: map[string]string{
			"last rank's first line": "mpirun's start to the last rank's first line",
			"with dialling":          "launcher's CPU, dialling included",
			"held":                   "launcher's memory held",
		}},
		{table: "ready", names: map[string]string{"last rank's first line": "the last worker's Ready to the last rank's first line"}},
		{table: "hold", drawn: true},
		{table: "apply", drawn: true},
		{table: "throughput", drawn: true, least: true, names: map[string]string{
			"throughput":        "throughput of a session's output through the whole path",
			"CPU time, machine": "CPU time of the whole machine for that",
		}},
	}
}

// compared returns the table of docs/explanation/comparison.md: the properties, then a line for each column of the
// compared tables, at one size. It returns false if none of these tables was measured.
func compared(all []report.Table) (string, bool) {
	var b strings.Builder
	for _, c := range comparisons() {
		i := slices.IndexFunc(all, func(t report.Table) bool { return t.Name == c.table })
		if i < 0 || len(all[i].Rows) == 0 {
			continue
		}
		t := all[i]
		size := t.Rows[0].Size
		for _, r := range t.Rows {
			if c.least == (r.Size < size) {
				size = r.Size
			}
		}
		for column := range t.Columns {
			if !c.drawn || slices.Contains(t.Drawn, column) {
				b.WriteString(figureLine(t, column, c.names, size))
			}
		}
	}
	return properties + b.String(), b.Len() > 0
}

// figureLine returns one line of figures, or "" if Muster or both of the others have none.
func figureLine(t report.Table, column int, names map[string]string, size int) string {
	c := t.Columns[column]
	if name, ok := names[c.Name]; ok {
		c.Name = name
	}
	what := c.Label()
	if size > 0 {
		over := t.Over
		if size == 1 {
			over = strings.TrimSuffix(over, "s")
		}
		what = fmt.Sprintf("%s, %d %s", what, size, over)
	}
	line, found := "| "+what, []string{}
	for _, words := range [][]string{{"kubexec", "kubectl"}, {"ssh", "mpi-operator"}, {"muster", "launchjob"}} {
		cell := figureCell(t, column, size, words)
		found = append(found, cell)
		if cell == "" {
			cell = "-"
		}
		line += " | " + cell
	}
	if found[2] == "" || found[0] == "" && found[1] == "" {
		return ""
	}
	return line + " |\n"
}

// figureCell returns the figures of the rows with one of these words in their name, in
// the table's order. The part of a name after a comma is not searched. If a row's name differs
// from the first such row's name up to the comma, the difference precedes the figure.
func figureCell(t report.Table, column, size int, words []string) string {
	var cells []string
	plain := ""
	for _, r := range t.Rows {
		name, _, _ := strings.Cut(r.Name, ",")
		in := slices.ContainsFunc(words, func(w string) bool { return strings.Contains(strings.ToLower(name), w) })
		if !in || r.Size != size || len(r.Cells[column]) == 0 {
			continue
		}
		if plain == "" {
			plain = name
		}
		cell := report.Of(r.Cells[column]).String()
		if differs := strings.Trim(strings.TrimPrefix(r.Name, plain), ", "); differs != "" {
			cell = differs + ": " + cell
		}
		cells = append(cells, cell)
	}
	return strings.ReplaceAll(strings.Join(cells, "; "), "|", `\|`)
}
