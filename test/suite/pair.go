package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/pair"
)

// playPair times a launch on fake workers with two builds. watched means that the second one serves metrics and sends
// traces.
func playPair(args []string, watched bool) error {
	fs := flag.NewFlagSet("pair", flag.ExitOnError)
	before := fs.String("before", "", "`DIR` of the first build")
	after := fs.String("after", "", "`DIR` of the second build")
	workers := fs.Int("workers", 60, "fake workers")
	rounds := fs.Int("rounds", 12, "how often to run each")
	_ = fs.Parse(args) // ExitOnError
	launch := pair.Pair{Before: *before, After: *after, Rounds: *rounds,
		Args: []string{"run", "--fake", strconv.Itoa(*workers), "--", "mpirun.openmpi", "true"}}
	var spans atomic.Int64
	if watched {
		collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			n, _ := io.Copy(io.Discard, r.Body) // a launch that fails to send prints that
			spans.Add(n)
		}))
		defer collector.Close()
		launch.MoreArgs = []string{"--metrics-addr", "127.0.0.1:0"}
		launch.MoreEnv = []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + collector.URL, "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"}
	}
	times, err := launch.Times(context.Background())
	if err != nil {
		return err
	}
	show("time", times.Wall)
	if !watched {
		return figure.Report("make fake-pair", "pair", times.Wall, figure.Row{Name: fmt.Sprintf("a launch on %d fake workers beside another commit's", *workers), Op: "<=", Bar: 1.05})
	}
	if spans.Load() == 0 {
		return fmt.Errorf("no traces came")
	}
	show("CPU", times.CPU)
	where := fmt.Sprintf("of metrics and traces on %d fake workers", *workers)
	return figure.Report("make overhead", "overhead", map[string]figure.Series{"time": times.Wall, "cpu": times.CPU},
		figure.Row{Name: "time " + where, Log: "time", Op: "<=", Bar: 1.01}, figure.Row{Name: "launcher's CPU " + where, Log: "cpu", Op: "<=", Bar: 1.03})
}

// show prints the medians of both builds.
func show(what string, s figure.Series) {
	for _, build := range []struct {
		name    string
		samples []float64
	}{{"before", s.Over}, {"after", s.Samples}} {
		fmt.Printf("%s %s: %.3g s in the median (%.3g to %.3g)\n", what, build.name, figure.Median(build.samples), slices.Min(build.samples), slices.Max(build.samples))
	}
}
