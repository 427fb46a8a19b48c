//go:build mpi

package fake

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/suite/figure"
)

// TestRestartTakesLittle measures the time from a rank's death to the next attempt's first line, with 20 workers.
func TestRestartTakesLittle(t *testing.T) {
	dir := t.TempDir()
	died, first := filepath.Join(dir, "died"), filepath.Join(dir, "first")
	script := `if [ $MUSTER_ATTEMPT = 1 ]; then
	[ -e "$0" ] && ln -s "$(date +%s%N)" "$1" 2>/dev/null; exit 0; fi
	[ $RANK = 7 ] || exec sleep inf; sleep 1; date +%s%N >"$0"; kill -KILL $$`
	o := run(t, agentRun(t, []string{"--fake=20", "--framework=plain", "--max-restarts=1"}, "bash", "-c", script, died, first))
	o.wants(t, 0)
	took := stamp(t, died, first)
	t.Logf("20 workers: %.2f s from the death of a rank to the next attempt's first line", took.Seconds())
	record(t, "fake-restart", figure.Series{Unit: "s", Samples: []float64{took.Seconds()}, Reduce: "max"},
		figure.Row{Name: "20 fake workers: a rank's death to the new attempt's first line", Op: "<=", Bar: 3, Unit: "s"})
}

// stamp returns the time between the content of from and the target of to, a link that the first process of the
// next attempt has made.
func stamp(t *testing.T, from, to string) time.Duration {
	t.Helper()
	text, err := os.ReadFile(from)
	require.NoError(t, err)
	target, err := os.Readlink(to)
	require.NoError(t, err)
	var a, b int64
	_, err = fmt.Sscan(string(text)+" "+target, &a, &b)
	require.NoError(t, err)
	return time.Duration(b - a)
}
