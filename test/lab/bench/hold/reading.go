//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// reading is what the API server says of itself.
type reading struct {
	At         time.Time
	Streams    float64 // requests for pods/exec that go on
	Goroutines float64
	Live       float64 // bytes on the heap after a collection, and of stacks
	Resident   float64 // bytes
}

// read collects the API server's garbage, and reads its metrics.
func (w *world) read(ctx context.Context) (reading, error) {
	for range 2 { // what lies in pools outlives the first collection
		if _, err := w.fetch(ctx, "/debug/pprof/heap?gc=1"); err != nil {
			return reading{}, err
		}
	}
	text, err := w.fetch(ctx, "/metrics")
	if err != nil {
		return reading{}, err
	}
	r, err := parseReading(text)
	r.At = time.Now()
	return r, err
}

// fetch gets a path over a connection that stays.
func (w *world) fetch(ctx context.Context, path string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.Config.Host+path, nil)
	if err != nil {
		return "", err
	}
	answer, err := w.http.Do(req)
	if err != nil {
		return "", fmt.Errorf("read the API server's metrics: %w", err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = errors.New(answer.Status)
	}
	if err != nil {
		return "", fmt.Errorf("read the API server's %s: %w", path, err)
	}
	return string(text), nil
}

// parseReading reads Prometheus' text format. The gauge of streams is not there before the first one.
func parseReading(text string) (r reading, err error) {
	plain := map[string]float64{"go_goroutines": -1, "go_memstats_heap_alloc_bytes": -1, "go_memstats_stack_inuse_bytes": -1, "process_resident_memory_bytes": -1}
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		_, wanted := plain[name]
		exec := strings.HasPrefix(name, "apiserver_longrunning_requests{") && strings.Contains(name, `resource="pods"`) && strings.Contains(name, `subresource="exec"`)
		if !wanted && !exec {
			continue
		}
		value, err := strconv.ParseFloat(rest, 64)
		if err != nil {
			return r, fmt.Errorf("read metric: %w", err)
		}
		if exec {
			r.Streams += value
		} else {
			plain[name] = value
		}
	}
	for name, value := range plain {
		if value < 0 {
			return r, fmt.Errorf("read metrics: no %s", name)
		}
	}
	r.Goroutines, r.Resident = plain["go_goroutines"], plain["process_resident_memory_bytes"]
	r.Live = plain["go_memstats_heap_alloc_bytes"] + plain["go_memstats_stack_inuse_bytes"]
	return r, nil
}
