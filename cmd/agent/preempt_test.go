//go:build linux

package main

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestPreemption checks that TERM to a pod uses up no restart, and that the job waits for the
// replacement.
func TestPreemption(t *testing.T) {
	for _, rank := range []int{1, 0} {
		t.Run(same("rank %d", rank), func(t *testing.T) {
			g := newGang(t, 2, `trap 'echo saved > $SHARED/checkpoint-$RANK; exit 3' TERM; `+twoAttempts, "--max-restarts=1")
			pods := g.startAll()
			require.Eventually(t, func() bool { return lines(g.file("started")) == 1 }, patience, 10*time.Millisecond)
			pods[rank].signal(syscall.SIGTERM)
			require.Equal(t, 143, pods[rank].code(), "%s", pods[rank].out)
			require.NotEmpty(t, g.file(same("checkpoint-%d", rank)))
			if rank == 0 {
				g.knocked(1)
			} else {
				pods[0].says("attempt 2 of 3: ")
			}
			all(t, []*pod{pods[1-rank], g.start(rank)}, 0)
			require.Contains(t, pods[1-rank].out.String(), "attempt 2 of 3: ", "the attempt does not count as a restart")
			require.Contains(t, pods[1-rank].out.String(), "told to stop from outside")
		})
	}
}

// TestPreemptionLetsAllSave checks that all ranks are told to stop at once, because ranks that save
// together need each other.
func TestPreemptionLetsAllSave(t *testing.T) {
	for rank := range 2 {
		t.Run(same("rank %d", rank), func(t *testing.T) {
			g := newGang(t, 2, `trap 'asked=1' TERM; echo up >> $SHARED/up; while [ -z "$asked" ]; do sleep 0.05; done
				echo asked >> $SHARED/asked; while [ $(wc -l < $SHARED/asked) != 2 ]; do sleep 0.05; done; echo saved >> $SHARED/saved`, "--grace=20s")
			pods := g.startAll()
			require.Eventually(t, func() bool { return lines(g.file("up")) == 1 }, patience, 10*time.Millisecond)
			pods[rank].signal(syscall.SIGTERM)
			require.Equal(t, 143, pods[rank].code(), "%s", pods[rank].out)
			if rank == 0 {
				require.Eventually(t, func() bool { return lines(g.file("saved")) == 1 }, patience, 10*time.Millisecond)
				return // the other member waits for the replacement
			}
			require.NotZero(t, pods[0].code())
			require.Equal(t, 1, lines(g.file("saved")), "%s", pods[0].out)
			require.Contains(t, pods[0].out.String(), "agent: rank 1 on job-1 was told to stop: stopping the other ranks, up to 20 s for saving\n")
		})
	}
}

func TestPreemptionWithoutRestarts(t *testing.T) {
	g := newGang(t, 2, twoAttempts)
	pods := g.startAll()
	require.Eventually(t, func() bool { return lines(g.file("started")) == 1 }, patience, 10*time.Millisecond)
	pods[1].signal(syscall.SIGTERM)
	require.Equal(t, 143, pods[1].code())
	require.NotZero(t, pods[0].code())
	require.Contains(t, pods[0].out.String(), "rank 1 on job-1 was ended because its worker was told to stop from outside")
}
