//go:build linux

package main

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestScrapeOfARun scrapes a real run of fake workers, until its command runs on both of them and one has
// lost its link for a moment.
func TestScrapeOfARun(t *testing.T) {
	t.Parallel()
	r := measuredRun(t)
	var text string
	require.Eventually(t, func() bool {
		text = scraped(t, "http://"+r.address+"/metrics")
		return strings.Contains(text, "muster_workers{state=\"running\"} 2") && strings.Contains(text, "muster_link_redial_seconds_count 1")
	}, 30*time.Second, 50*time.Millisecond, "%s", &text)
	said := r.end()
	require.NotContains(t, said, "agent-exporter")
	for _, want := range []string{
		"muster_run_info{version=\"" + release + "\"} 1", "muster_workers_wanted 2", "muster_link_drops_total 1", "muster_restarts_total 0",
		`muster_launch_phase_seconds_count{phase="linking"} 2`, `muster_attempts_total{cause="lost"} 0`, "# EOF", `trace_id="0af7651916cd43dd8448eb211c80319c"`,
	} {
		require.Contains(t, text, want)
	}
	require.Empty(t, scraped(t, "http://"+r.address+"/metrics"), "it has ended with the run")
}

// TestPrometheusScrapesARun checks that a real Prometheus gets the series, and native histograms.
func TestPrometheusScrapesARun(t *testing.T) {
	t.Parallel()
	_, err := osexec.LookPath("prometheus")
	require.NoError(t, err, "make deps installs it")
	r := measuredRun(t)
	dir, address := t.TempDir(), "127.0.0.1:"+freePort(t)
	config := filepath.Join(dir, "prometheus.yml")
	require.NoError(t, os.WriteFile(config, []byte("scrape_configs: [{job_name: muster, scrape_interval: 200ms, scrape_timeout: 200ms, static_configs: [{targets: ['"+r.address+"']}]}]\n"), 0o600))
	ctx, stop := context.WithCancel(t.Context())
	server := osexec.CommandContext(ctx, "prometheus", "--config.file="+config, "--storage.tsdb.path="+dir+"/data", "--web.listen-address="+address, "--enable-feature=native-histograms", "--log.level=error")
	require.NoError(t, server.Start())
	defer func() { stop(); _ = server.Wait() }()
	for query, want := range map[string]string{
		`sum(muster_workers{state="running"})`:                                       "2",
		`sum(muster_link_drops_total)`:                                               "1",
		`sum(histogram_count(muster_launch_phase_seconds{phase="linking"}))`:         "2",
		`count(count by (__name__) ({__name__=~"muster_.*"})) >= bool 13`:            "1",
		`sum(muster_goodput_seconds{class="productive"}) > bool 0.5`:                 "1",
		`sum(muster_goodput_ratio) > bool 0.2`:                                       "1",
		`count(group by (worker) ({__name__=~"muster_.*",worker!=""})) or vector(0)`: "0",
	} {
		answer := ""
		require.Eventually(t, func() bool {
			answer = scraped(t, "http://"+address+"/api/v1/query?query="+url.QueryEscape(query))
			return strings.Contains(answer, `,"`+want+`"]`)
		}, 30*time.Second, 100*time.Millisecond, "%s: %s", query, &answer)
	}
	r.end()
}

// measured is a run that serves metrics.
type measured struct {
	address string
	end     func() (stderr string) // ends it, and checks that it succeeds
}

// measuredRun starts a run of two fake workers. One of them loses its link for a moment.
func measuredRun(t *testing.T) measured {
	dir, err := os.MkdirTemp("", "x") // a short path, for sockets
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	address := "127.0.0.1:" + freePort(t)
	cmd := osexec.CommandContext(t.Context(), filepath.Join(bin, "agent"), "run", "--fake=2", "--framework=plain", "--metrics-addr="+address,
		"--fake-fault", "drop worker=0 after=300ms", "--", "sh", "-c", "until test -e "+dir+"/over; do sleep 0.1; done")
	cmd.Env = append(os.Environ(), "MUSTER_DIR="+filepath.Join(dir, "r"), "MUSTER_TERMINATION_LOG="+filepath.Join(dir, "last-words"),
		"TRACEPARENT=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	var said strings.Builder
	cmd.Stderr = &said
	require.NoError(t, cmd.Start())
	return measured{address, func() string {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "over"), nil, 0o600))
		require.NoError(t, cmd.Wait(), said.String())
		return said.String()
	}}
}

// scraped returns what a URL serves, metrics in the format OpenMetrics, or "" if nothing serves it.
func scraped(t *testing.T, address string) string {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	req.Header.Set("Accept", "application/openmetrics-text;version=1.0.0")
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return ""
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return ""
	}
	return string(body)
}
