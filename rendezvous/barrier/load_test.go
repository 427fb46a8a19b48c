package barrier

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/suite/figure"
)

var (
	members = flag.Int("members", 200, "members of TestManyMembers, all in this process over loopback")
	keep    = flag.Bool("figure", false, "keep the result of TestManyMembers as a figure")
)

// TestManyMembers measures the seconds from the start of the last member until every member has the
// table: go test ./rendezvous/barrier -count=1 -run ManyMembers -v -args -members 1000 -figure.
func TestManyMembers(t *testing.T) {
	took := fill(t, *members)
	t.Logf("%d members: %.2f s", *members, took.Seconds())
	require.Less(t, took, 20*time.Second)
	if !*keep {
		return
	}
	series := figure.Series{Unit: "s", Reduce: "max", Samples: []float64{took.Seconds()}}
	for range 4 {
		series.Samples = append(series.Samples, fill(t, *members).Seconds())
	}
	dir, err := figure.Dir()
	require.NoError(t, err)
	log, err := figure.WriteRaw(dir, "barrier", series)
	require.NoError(t, err)
	row, err := figure.Record(dir, figure.Row{Log: log, Command: "make heal", Unit: "s", Op: "<=", Bar: 5,
		Name: fmt.Sprintf("heal: seconds until all of %d members on loopback have the table", *members)})
	require.NoError(t, err)
	t.Logf("five runs: %.2f s at most", row.Value)
	require.True(t, row.Pass)
}

func BenchmarkBarrier(b *testing.B) {
	for range b.N {
		fill(b, 100)
	}
}

func fill(t testing.TB, n int) time.Duration {
	h := serve(t, n, nil)
	began := time.Now()
	var all []*player
	for rank := range n {
		all = append(all, join(t, h.address, card(rank, n), secret))
	}
	table := h.gather(t)
	h.run(t, 0, table)
	eventually(t, "everybody has the table", func() bool {
		for _, p := range all {
			if p.last().Phase != PhaseRun {
				return false
			}
		}
		return true
	})
	took := time.Since(began)
	got, err := all[n-1].last().Table.Unpack()
	require.NoError(t, err)
	require.Len(t, got, n)
	for _, p := range all {
		p.leave()
	}
	h.close()
	return took
}
