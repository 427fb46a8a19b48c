//go:build linux && !race

package network_test

import (
	"testing"

	"github.com/musterhq/muster/test/contract"
)

// TestManyCuts is the long form of the contract suite's cuts. Under the race detector, it does not
// run, and the suite's 20 cuts of 8 MiB replace it.
func TestManyCuts(t *testing.T) {
	cuts, size := 200, 64<<20
	if testing.Short() {
		cuts, size = 40, 16<<20
	}
	r := contract.Cuts(t, newWay(t), cuts, size)
	t.Logf("%+v", r)
	r.RequireWhole(t)
}
