//go:build e2e

package e2e

import (
	"maps"
	"os"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/suite/audit"
	"github.com/musterhq/muster/test/suite/figure"
)

// recordRequests records what the API server was asked for one job of 20 workers, by
// its own log: the controller's requests, and answers 403 to it, to the launcher,
// and to whoever had a token. Events count.
func (s *space) recordRequests(since time.Time) {
	t := s.t
	t.Helper()
	path := os.Getenv("MUSTER_AUDIT_LOG")
	if path == "" && os.Getenv("MUSTER_CLUSTER") == "" {
		t.Log("a cluster of your own, with an audit log that we do not know: requests are not counted")
		return
	}
	all, err := audit.Since(path, since)
	require.NoError(t, err, "test/lab/cluster up starts an API server that writes one")
	ours := audit.Of(all, "muster-controller", s.name)
	require.NotEmpty(t, ours)
	count := audit.Count(ours)
	for _, what := range slices.Sorted(maps.Keys(count)) {
		t.Logf("%s: %d", what, count[what])
	}
	denied := audit.Forbidden(all, s.name)
	for _, r := range denied {
		t.Logf("403: %+v", r)
	}
	const name, refused = "controller's requests for a LaunchJob of 20 workers", "answers 403 during it"
	raw := map[string]figure.Series{
		name:    {Unit: "requests", Reduce: "last", Samples: []float64{float64(len(ours))}},
		refused: {Unit: "requests", Reduce: "last", Samples: []float64{float64(len(denied))}},
	}
	record(t, figure.Row{Name: name, Op: "<=", Bar: 60}, raw)
	record(t, figure.Row{Name: refused, Op: "==", Bar: 0}, raw)
}
