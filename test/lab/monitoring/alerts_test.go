package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// promtool runs Prometheus' own checker. A machine without it cannot tell, so the test fails.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "promtool", args...).CombinedOutput()
	require.NoError(t, err, "promtool %s: %s (it is in Debian's package prometheus: make deps)", strings.Join(args, " "), out)
}

// TestAlerts checks that each alert fires for its fault and not for a healthy cluster.
func TestAlerts(t *testing.T) {
	promtool(t, "check", "rules", "../../../images/chart/files/alerts.yaml")
	promtool(t, "test", "rules", "testdata/alerts_test.yaml")
}

// TestEveryAlertIsTested checks that testdata/alerts_test.yaml expects each alert once to fire and once not to.
func TestEveryAlertIsTested(t *testing.T) {
	rules, err := os.ReadFile("../../../images/chart/files/alerts.yaml")
	require.NoError(t, err)
	cases, err := os.ReadFile("testdata/alerts_test.yaml")
	require.NoError(t, err)
	names := regexp.MustCompile(`(?m)^ +- alert: (\w+)$`).FindAllStringSubmatch(string(rules), -1)
	require.NotEmpty(t, names)
	healthy, faulty, found := strings.Cut(string(cases), "- name: a job that waits")
	require.True(t, found)
	for _, n := range names {
		require.Regexp(t, `alertname: `+n[1]+`\b`, healthy)
		require.Regexp(t, `alertname: `+n[1]+`\n +exp_alerts:\n`, faulty)
	}
}

// TestDashboardsAreFresh checks that the committed files are what the table of panels says.
func TestDashboardsAreFresh(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, write(dir))
	for _, name := range []string{"fleet.json", "job.json"} {
		want, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		have, err := os.ReadFile(filepath.Join("../../../images/chart/files", name))
		require.NoError(t, err)
		require.Equal(t, string(want), string(have), "make generate, and commit %s", name)
	}
}

// TestPanelsNameKnownMetrics checks that each metric of Muster's in a panel or an alert is in the reference page.
func TestPanelsNameKnownMetrics(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/metrics.md")
	require.NoError(t, err)
	text, err := os.ReadFile("../../../images/chart/files/alerts.yaml")
	require.NoError(t, err)
	exprs := string(text)
	for _, r := range append(fleet(), one()...) {
		for _, p := range r.panels {
			require.NotEmpty(t, p.means, p.title)
			for _, q := range p.queries {
				exprs += q.expr + "\n"
			}
		}
	}
	for _, name := range regexp.MustCompile(`\bmuster_\w+`).FindAllString(exprs, -1) {
		require.Contains(t, string(page), "`"+strings.TrimSuffix(name, "_bucket")+"`")
	}
}
