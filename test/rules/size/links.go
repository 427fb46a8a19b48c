//go:build linux

package main

import (
	"fmt"
	"os"

	"github.com/musterhq/muster/test/rules/linked"
	"github.com/musterhq/muster/test/suite/figure"
)

// links counts what each binary links; the bars are those of test/rules.
func links(raw map[string]figure.Series) (rows []figure.Row, err error) {
	count := func(name, key, unit string, n, most int) {
		raw[key] = figure.Series{Unit: unit, Samples: []float64{float64(n)}, Reduce: "last"}
		rows = append(rows, figure.Row{Name: name, Log: key, Op: "<=", Bar: float64(most)})
	}
	for _, b := range linked.Binaries() {
		found, err := b.Look()
		if err != nil {
			return nil, err
		}
		for _, breach := range found.Breaches {
			fmt.Fprintln(os.Stderr, "size: "+breach)
		}
		count(b.Name+": packages linked", b.Name+"_packages", "packages", found.Packages, b.Packages)
		count(b.Name+": modules linked", b.Name+"_modules", "modules", found.Modules, b.Modules)
		count(b.Name+": packages linked that it may not link", b.Name+"_forbidden", "packages", len(found.Breaches), 0)
	}
	return rows, nil
}
