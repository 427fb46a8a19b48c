package stacks

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// in returns the rank in an MPI call.
func in(call string, r Rank) Rank {
	r.Record.MPI, r.Record.MPICall = true, call
	return r
}

func TestPolling(t *testing.T) {
	at := func(n int, call string) Rank { return in(call, rank(n, "R", plainStep)) }
	for want, row := range map[string]struct {
		ranks []Rank
		polls []int
	}{
		"both ranks use a processor at train.py:40 step (MPI Recv)":                                                                     {[]Rank{at(0, "Recv"), at(1, "Recv")}, []int{0, 1}},
		"all 3 ranks use a processor at train.py:40 step (MPI Recv)":                                                                    {[]Rank{at(0, "Recv"), at(1, "Recv"), at(2, "Recv")}, []int{0, 1, 2}},
		"2 of 3 ranks use a processor at train.py:40 step (MPI Recv)":                                                                   {[]Rank{at(0, "Recv"), at(1, "Recv"), rank(2, "S read", load)}, []int{0, 1}},
		"1 of 2 ranks uses a processor at train.py:40 step (MPI Recv)":                                                                  {[]Rank{rank(0, "S read", load), at(1, "Recv")}, []int{1}},
		"all 3 ranks use a processor in MPI: rank 1 on w1 at train.py:40 step (MPI Barrier), ranks 0, 2 at train.py:40 step (MPI Recv)": {[]Rank{at(0, "Recv"), at(1, "Barrier"), at(2, "Recv")}, []int{0, 1, 2}},
	} {
		require.Equal(t, want, Polling(row.ranks, row.polls))
	}
	v := OfHang([]Rank{in("Barrier", rank(0, "R", plainStep)), mpi(rank(1, "S read", load))})
	require.Equal(t, "rank 0 on w0 is waiting in MPI Barrier at train.py:40 step; rank 1 on w1 is not waiting: reading from a pipe or a file at train.py:31 load_batch. Look at rank 1 first.", v.Sentence)
}
