package main

import (
	"fmt"
	"strings"

	"github.com/musterhq/muster/test/lab/bench/report"
	"github.com/musterhq/muster/test/suite/figure"
)

// docsPage is docs/bench/README.md.
func docsPage(all []report.Table, bars []figure.Row, drawn map[string]bool) string {
	var b strings.Builder
	b.WriteString("# Benchmarks\n\n`make bench` measures this and writes this page; out/bench.json has every sample. Cells are medians, with the least and the most sample behind them.\n" +
		"Contenders of one table took turns within one run. Where two tables differ in a condition, their notes say so.\n\n")
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

// barsTable are the figures of out/SUITE.json that make bench shows, each with its bar.
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
	return "## Bars\nFrom out/SUITE.json, by the same run.\n\n| figure | value | bar | |\n|---|---:|---:|---|\n" + b.String() + "\n"
}
