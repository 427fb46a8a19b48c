//go:build linux

package main

import (
	"fmt"

	"github.com/musterhq/muster/test/suite/figure"
)

// figure keeps a figure; name says what it counts in this row.
func (w *world) figure(name string, value any, op string, bar float64, unit string) {
	w.raw[name] = value
	w.figures = append(w.figures, figure.Row{Name: "gang " + w.row.key + ": " + name, Log: name, Op: op, Bar: bar, Unit: unit, Command: "make e2e-gang"})
}

// record writes what was seen, and the row's figures. The error says which one
// missed its bar.
func (w *world) record() error {
	log, err := figure.WriteRaw(w.out, "gang-"+w.row.key, w.raw)
	if err != nil {
		return err
	}
	var missed error
	for _, f := range w.figures {
		f.Log = log + "#" + f.Log
		f, err := figure.Record(w.out, f)
		if err != nil {
			return err
		}
		if !f.Pass {
			missed = fmt.Errorf("%s: %v %s, not %s %v", f.Name, f.Value, f.Unit, f.Op, f.Bar)
		}
	}
	return missed
}
