//go:build e2e

package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/suite/figure"
)

// record writes the raw numbers of a figure and its row, and logs it. A row
// that misses its bar fails the test.
func record(t *testing.T, row figure.Row, raw map[string]figure.Series) {
	t.Helper()
	dir, err := figure.Dir()
	require.NoError(t, err)
	row.Log = row.Name
	kept, err := figure.Keep(dir, "make e2e", "e2e-"+row.Name, raw, row)
	require.NoError(t, err)
	t.Log(kept)
	require.NoError(t, figure.Missed(kept))
}

// pairRatios divides pair by pair: what else goes on in the machine disturbs
// both halves of a pair alike.
func pairRatios(over, under []float64) []float64 {
	var all []float64
	for i := range over {
		all = append(all, over[i]/under[i])
	}
	return all
}
