//go:build linux

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"k8s.io/client-go/rest"
)

// apiServer is what an API server says of itself.
type apiServer struct {
	CPUSeconds float64
	Goroutines float64
	MemoryMB   float64 // 10^6 bytes of its resident set
	Streams    float64 // pods/exec under way
}

// metrics asks it.
func (w *world) metrics(ctx context.Context) (s apiServer, err error) {
	client, err := rest.HTTPClientFor(w.cfg)
	if err != nil {
		return s, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.cfg.Host+"/metrics", nil)
	if err != nil {
		return s, err
	}
	answer, err := client.Do(request)
	if err != nil {
		return s, fmt.Errorf("read the API server's metrics: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return s, fmt.Errorf("read the API server's metrics: %s", answer.Status)
	}
	return parseMetrics(answer.Body)
}

// parseMetrics reads the text format of Prometheus: NAME{LABELS} VALUE.
func parseMetrics(text io.Reader) (s apiServer, err error) {
	found := 0
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		series, number, _ := strings.Cut(lines.Text(), " ")
		var to *float64
		unit := 1.0
		switch {
		case series == "process_cpu_seconds_total":
			to = &s.CPUSeconds
		case series == "go_goroutines":
			to = &s.Goroutines
		case series == "process_resident_memory_bytes":
			to, unit = &s.MemoryMB, 1e6
		case strings.HasPrefix(series, "apiserver_longrunning_requests{") && strings.Contains(series, `subresource="exec"`):
			to = &s.Streams
			found--
		default:
			continue
		}
		value, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return s, fmt.Errorf("read metrics: %w", err)
		}
		*to += value / unit
		found++
	}
	if err := lines.Err(); err != nil {
		return s, fmt.Errorf("read metrics: %w", err)
	}
	if found != 3 {
		return s, fmt.Errorf("read metrics: %d of 3 are there", found)
	}
	return s, nil
}
