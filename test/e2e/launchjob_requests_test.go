//go:build e2e

package e2e

import (
	"bufio"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/suite/figure"
)

// requests are the controller's, by verb, and its answers 403.
type requests struct {
	verbs     map[string]float64
	forbidden float64
}

// controllerRequests reads the controller's own count of its requests.
func controllerRequests(t *testing.T) requests {
	t.Helper()
	ip, err := kubectlCall{namespace: controllerNamespace}.run("get", "pods", "-l", "app.kubernetes.io/name=muster-controller",
		"--field-selector=status.phase=Running", "-o", "jsonpath={.items[0].status.podIP}")
	require.NoError(t, err)
	answer, err := http.Get("http://" + ip + ":8080/metrics")
	require.NoError(t, err)
	defer answer.Body.Close()
	return countRequests(t, answer.Body)
}

func countRequests(t *testing.T, text io.Reader) requests {
	t.Helper()
	count := requests{verbs: map[string]float64{}}
	for scan := bufio.NewScanner(text); scan.Scan(); {
		labels, value, ok := strings.Cut(strings.TrimPrefix(scan.Text(), "rest_client_requests_total{"), "} ")
		if !ok || !strings.HasPrefix(scan.Text(), "rest_client_requests_total{") {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		require.NoError(t, err)
		_, verb, _ := strings.Cut(labels, `method="`)
		verb, _, _ = strings.Cut(verb, `"`)
		count.verbs[verb] += n
		if strings.Contains(labels, `code="403"`) {
			count.forbidden += n
		}
	}
	require.NotEmpty(t, count.verbs)
	return count
}

// renewEvery is how often a leader renews its lease, with one PUT.
const renewEvery = 2 * time.Second

// recordRequests records what one job of 20 workers cost. The leader's lease is
// taken off by the clock; events count.
func recordRequests(t *testing.T, before, after requests, took time.Duration) {
	t.Helper()
	total := -float64(took / renewEvery)
	for verb, n := range after.verbs {
		t.Logf("%s: %.0f", verb, n-before.verbs[verb])
		total += n - before.verbs[verb]
	}
	const name, denied = "controller's requests for a LaunchJob of 20 workers", "of these answered with 403"
	raw := map[string]figure.Series{
		name:   {Unit: "requests", Reduce: "last", Samples: []float64{total}},
		denied: {Unit: "requests", Reduce: "last", Samples: []float64{after.forbidden - before.forbidden}},
	}
	record(t, figure.Row{Name: name, Op: "<=", Bar: 60}, raw)
	record(t, figure.Row{Name: denied, Op: "==", Bar: 0}, raw)
}
