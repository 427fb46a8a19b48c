//go:build linux

package main

import (
	"io"
	"net/http"
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
	var text string
	require.Eventually(t, func() bool {
		text = scraped(t, "http://"+address+"/metrics")
		return strings.Contains(text, "muster_workers{state=\"running\"} 2") && strings.Contains(text, "muster_link_redial_seconds_count 1")
	}, 30*time.Second, 50*time.Millisecond, "%s", &text)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "over"), nil, 0o600))
	require.NoError(t, cmd.Wait(), said.String())
	require.NotContains(t, said.String(), "agent-exporter")
	for _, want := range []string{
		"muster_run_info{version=\"" + release + "\"} 1", "muster_workers_wanted 2", "muster_link_drops_total 1", "muster_restarts_total 0",
		`muster_launch_phase_seconds_count{phase="linking"} 2`, `muster_attempts_total{cause="lost"} 0`, "# EOF", `trace_id="0af7651916cd43dd8448eb211c80319c"`,
	} {
		require.Contains(t, text, want)
	}
	require.Empty(t, scraped(t, "http://"+address+"/metrics"), "it has ended with the run")
}

// scraped returns the metrics in the format OpenMetrics, or "" if nothing serves them.
func scraped(t *testing.T, url string) string {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
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
