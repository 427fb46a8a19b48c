//go:build !race

package local_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/contract"
	"github.com/musterhq/muster/test/suite/figure"
)

// TestManyCuts is the long form of the contract suite's cuts. Under the race detector, it does not
// run, and the suite's 20 cuts of 8 MiB replace it.
func TestManyCuts(t *testing.T) {
	r := contract.Cuts(t, newWay(t), 200, 64<<20)
	t.Logf("%+v", r)
	if os.Getenv("MUSTER_OUT") != "" {
		dir, err := figure.Dir()
		require.NoError(t, err)
		_, err = figure.Keep(dir, "make test", "cuts", r,
			figure.Row{Name: "200 cuts of 64 MiB: SHA-256 equal", Log: "sha256_equal", Op: "==", Bar: 1},
			figure.Row{Name: "200 cuts of 64 MiB: launches", Log: "launches", Op: "==", Bar: 1},
			figure.Row{Name: "200 cuts of 64 MiB: exit code (42 sent)", Log: "exit_code", Op: "==", Bar: 42},
			figure.Row{Name: "200 cuts of 64 MiB: redials", Log: "redials", Op: ">=", Bar: 100})
		require.NoError(t, err)
	}
	r.RequireWhole(t)
}
