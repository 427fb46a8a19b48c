//go:build linux

package main

import (
	"errors"

	"github.com/musterhq/muster/test/suite/figure"
)

// figure keeps a figure; name says what it counts in this row.
func (w *world) figure(name string, value any, op string, bar float64, unit string) {
	w.raw[name] = value
	w.figures = append(w.figures, figure.Row{Name: "gang " + w.row.key + ": " + name, Log: name, Op: op, Bar: bar, Unit: unit})
}

// record writes what was seen, and the row's figures. The error says which one
// missed its bar.
func (w *world) record() error {
	kept, err := figure.Keep(w.out, "make e2e-gang", "gang-"+w.row.key, w.raw, w.figures...)
	return errors.Join(err, figure.Missed(kept))
}
