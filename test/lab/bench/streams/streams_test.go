//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/remote"
	"github.com/musterhq/muster/exec/session"
	"github.com/musterhq/muster/test/contract"
	"github.com/musterhq/muster/test/fakekube"
	"github.com/musterhq/muster/test/lab/measure"
	"github.com/musterhq/muster/test/suite/figure"
)

// metrics returns what a process serves. The gauge of streams, and the counter of WebSockets, may be missing.
func metrics(more string, goroutines int) string {
	return fmt.Sprintf("%s\nprocess_cpu_seconds_total 5.5\ngo_goroutines %d\ngo_memstats_heap_alloc_bytes 2e+06\n"+
		"go_memstats_stack_inuse_bytes 1e+06\nprocess_resident_memory_bytes 9e+06\n", more, goroutines)
}

// dry returns a world with workers behind a fake API server, whose kubelets translate WebSockets, and
// collect no garbage.
func dry(t *testing.T, workers int) *world {
	sockets := map[string]string{}
	var targets []remote.Target
	var reaper *reap.Reaper // one for all
	for i := range workers {
		pod := fmt.Sprintf("hold-worker-%d", i)
		worker := contract.NewWorker(t, func(c *session.Config) { c.Reaper = reaper })
		reaper, sockets[pod] = worker.Reaper, worker.Socket
		targets = append(targets, remote.Target{Namespace: "ns", Pod: pod, Container: "worker", Agent: "/muster/agent"})
	}
	server := fakekube.New(t)
	exec := fakekube.NewExec(t, func(_ context.Context, pod, _ string, _ []string, in io.Reader, out, _ io.Writer) (int, error) {
		c, err := net.Dial("unix", sockets[pod])
		if err != nil {
			return 255, nil
		}
		defer c.Close()
		done := make(chan struct{}, 2)
		go func() { _, _ = io.Copy(c, in); done <- struct{}{} }()
		go func() { _, _ = io.Copy(out, c); done <- struct{}{} }()
		<-done
		return 0, nil
	})
	server.Handle(fakekube.ExecPath, exec)
	text := func(path string, of func() string) {
		server.Handle(path, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, of()) }))
	}
	text("/version", func() string { return `{"major":"1","minor":"37+","gitVersion":"v1.37.2"}` })
	text("/debug/pprof/heap", func() string { return "" })
	text("/metrics", func() string {
		return metrics(fmt.Sprintf(`apiserver_longrunning_requests{resource="pods",subresource="exec"} %d`, exec.Open()), 1000+3*exec.Open())
	})
	text("/api/v1/nodes/{node}/proxy/metrics", func() string {
		return metrics(fmt.Sprintf(`kubelet_websocket_streaming_requests_total{subresource="exec"} %d`, exec.Dials()[fakekube.WebSocket]), 300)
	})
	config := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(config, []byte("apiVersion: v1\nkind: Config\ncurrent-context: c\n"+
		"clusters: [{name: c, cluster: {server: \""+server.URL()+"\"}}]\ncontexts: [{name: c, context: {cluster: c}}]\n"), 0o600))
	t.Setenv("KUBECONFIG", config)
	t.Setenv("MUSTER_AUDIT_LOG", "none")
	t.Setenv("MUSTER_OUT", t.TempDir())
	m, err := measure.New("streams")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	page := filepath.Join(t.TempDir(), "streams.md")
	require.NoError(t, os.WriteFile(page, []byte("# Page\n<!-- streams: begin -->\n<!-- streams: end -->\n"), 0o600))
	return &world{World: m, targets: targets, nodes: []string{"node1", "node2"},
		options: options{workers: workers, rounds: fewest, flows: 2, mib: 1, settle: time.Millisecond, span: 20 * time.Millisecond, page: page}}
}

// TestDry runs all rounds against a fake API server, with real links and workers.
func TestDry(t *testing.T) {
	w := dry(t, 4)
	require.NoError(t, w.measure(t.Context()))
	text, err := os.ReadFile(w.options.page)
	require.NoError(t, err)
	require.Contains(t, string(text), "| 1.37 | SPDY | none | 3 | ")
	require.Contains(t, string(text), "| 1.37 | WebSocket | kubelet | 3 | ")
	dir, err := figure.Dir()
	require.NoError(t, err)
	rows, err := figure.Read(dir)
	require.NoError(t, err)
	require.Len(t, rows, 2*len(columns()))
	require.FileExists(t, filepath.Join(dir, "raw", "bench-streams-1.37.json"))
	require.True(t, w.noGC)
}

// TestRoundsThatFail checks that too few rounds are an error, and that the page stays as it is.
func TestRoundsThatFail(t *testing.T) {
	w := dry(t, 2)
	w.targets[1].Pod = "another" // its attach exits with 255
	before, err := os.ReadFile(w.options.page)
	require.NoError(t, err)
	w.options.rounds = 1
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	require.ErrorIs(t, w.measure(ctx), context.DeadlineExceeded)
	require.ErrorContains(t, w.report(nil), "too few for a table")
	after, err := os.ReadFile(w.options.page)
	require.NoError(t, err)
	require.Equal(t, before, after)
}

// TestColumns computes the columns of a sample by hand.
func TestColumns(t *testing.T) {
	at := time.Now()
	server := func(goroutines, live, cpu float64) measure.Server {
		return measure.Server{Goroutines: goroutines, Live: live, CPUSeconds: cpu}
	}
	s := sample{Transport: "WebSocket", Streams: 10, MiB: 100, Seconds: 4,
		Idle: [2]reading{{At: at, Server: server(1000, 1e6, 1)}, {At: at.Add(10 * time.Second), Server: server(1000, 1e6, 2)}},
		Held: [2]reading{{At: at, Server: server(1220, 8.5e6, 3)}, {At: at.Add(20 * time.Second), Server: server(1220, 9e6, 7)}},
		Flow: [2]reading{{Server: server(0, 0, 8), Machine: 10}, {Server: server(0, 0, 9), Machine: 12}},
	}
	var got []float64
	for _, c := range columns() {
		got = append(got, c.of(s))
	}
	// 4 s in 20 s, less 1 s in 10 s, is 0.1 s a second: 600 ms a minute for each of 10 streams.
	require.Equal(t, []float64{22, 750, 600, 10, 0, 0, 0, 0, 20, 25}, got)
	require.Equal(t, "API server", translator(s))
}

// TestTableKeepsOtherVersions checks that a run of one version changes only its own lines.
func TestTableKeepsOtherVersions(t *testing.T) {
	rest := strings.Repeat("| 1 ", len(columns())) + "|"
	line := func(minor, by, by2 string) string { return "| " + minor + " | " + by + " | " + by2 + " " + rest }
	old := "# Page\n" + header() + line("1.37", "SPDY", "none") + "\n" + line("1.34", "SPDY", "none") + "\n" + line("1.34", "WebSocket", "API server") +
		"\n\n| 1.9 | another table |\n| API server | 1.5 |\n"
	now := []string{line("1.37", "SPDY", "new"), line("1.37", "WebSocket", "kubelet")}
	require.Equal(t, header()+strings.Join(append(now, line("1.34", "SPDY", "none"), line("1.34", "WebSocket", "API server")), "\n")+"\n", table(old, now))
	require.Equal(t, strings.Count(header(), "\n"), 2)
	now[0], now[1] = line("1.34", "SPDY", "new"), line("1.34", "WebSocket", "API server")
	require.True(t, strings.HasPrefix(table(old, now), header()+line("1.37", "SPDY", "none")+"\n"+now[0]))
}
