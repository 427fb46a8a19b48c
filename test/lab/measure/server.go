//go:build linux

package measure

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Server holds metrics of an API server or a kubelet.
type Server struct {
	At         time.Time
	Streams    float64 // running pods/exec requests; of an API server
	WebSockets float64 // exec requests by WebSocket so far; of a kubelet since 1.36
	CPUSeconds float64
	Goroutines float64
	Live       float64 // bytes of the heap and of stacks
	Resident   float64 // bytes
}

// Server reads the API server's metrics.
func (w *World) Server(ctx context.Context) (Server, error) { return w.read(ctx, "") }

// Kubelet reads the metrics of a node's kubelet, through the API server.
func (w *World) Kubelet(ctx context.Context, node string) (Server, error) {
	return w.read(ctx, KubeletPath(node))
}

// KubeletPath returns the path at the API server that leads to a node's kubelet.
func KubeletPath(node string) string { return "/api/v1/nodes/" + node + "/proxy" }

func (w *World) read(ctx context.Context, below string) (Server, error) {
	text, err := w.Fetch(ctx, below+"/metrics")
	if err != nil {
		return Server{}, err
	}
	s, err := parseServer(text)
	s.At = time.Now()
	return s, err
}

// Fetch gets a path from the API server, over a persistent connection.
func (w *World) Fetch(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.Config.Host+path, nil)
	if err != nil {
		return nil, err
	}
	answer, err := w.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("read the API server's %s: %w", path, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = errors.New(answer.Status)
	}
	if err != nil {
		return nil, fmt.Errorf("read the API server's %s: %w", path, err)
	}
	return text, nil
}

// parseServer reads Prometheus' text format. It parses only the lines that it needs, because the CPU time of
// this program is measured, too. The gauge of streams does not exist before the first stream.
func parseServer(text []byte) (s Server, err error) {
	plain := map[string]float64{"process_cpu_seconds_total": -1, "go_goroutines": -1, "go_memstats_heap_alloc_bytes": -1,
		"go_memstats_stack_inuse_bytes": -1, "process_resident_memory_bytes": -1}
	for line := range bytes.Lines(text) {
		name, rest, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		_, wanted := plain[name]
		exec := strings.HasPrefix(name, "apiserver_longrunning_requests{") && strings.Contains(name, `resource="pods"`) && strings.Contains(name, `subresource="exec"`)
		sockets := strings.HasPrefix(name, "kubelet_websocket_streaming_requests_total{") && strings.Contains(name, `subresource="exec"`)
		if !wanted && !exec && !sockets {
			continue
		}
		value, err := strconv.ParseFloat(rest, 64)
		if err != nil {
			return s, fmt.Errorf("read metrics: %w", err)
		}
		switch {
		case exec:
			s.Streams += value
		case sockets:
			s.WebSockets += value
		default:
			plain[name] = value
		}
	}
	for name, value := range plain {
		if value < 0 {
			return s, fmt.Errorf("read metrics: no %s", name)
		}
	}
	s.CPUSeconds, s.Goroutines, s.Resident = plain["process_cpu_seconds_total"], plain["go_goroutines"], plain["process_resident_memory_bytes"]
	s.Live = plain["go_memstats_heap_alloc_bytes"] + plain["go_memstats_stack_inuse_bytes"]
	return s, nil
}
