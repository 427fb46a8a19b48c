//go:build linux

package main

import (
	"context"

	"github.com/musterhq/muster/test/lab/measure"
)

// reading is what the API server says of itself.
type reading = measure.Server

// read collects the API server's garbage, and reads its metrics.
func (w *world) read(ctx context.Context) (reading, error) {
	for range 2 { // what lies in pools outlives the first collection
		if _, err := w.Fetch(ctx, "/debug/pprof/heap?gc=1"); err != nil {
			return reading{}, err
		}
	}
	return w.Server(ctx)
}
