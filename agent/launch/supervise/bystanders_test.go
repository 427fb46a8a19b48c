//go:build linux

package supervise

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/hang"
	"github.com/musterhq/muster/agent/launch/tally"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/agent/stacks"
	"github.com/musterhq/muster/exec/wire"
)

// TestBystanders checks that a rank is judged by its stack only if it had not been told to end.
// Ranks without a usable stack still count as ranks.
func TestBystanders(t *testing.T) {
	standing := func(n int, noTerm bool) stacks.Rank {
		return stacks.New(fmt.Sprint("rank ", n), n, "w", wire.StackRecord{NoTerm: noTerm, Text: []byte(atStep), Process: wire.ProcessRecord{PID: 70 + n, Rank: fmt.Sprint(n), State: "S", Call: "clock_nanosleep"}})
	}
	ended := func(n, signal int) verdict.RankEnd {
		return verdict.RankEnd{Worker: "w", Rank: fmt.Sprint(n), PID: 70 + n, Code: 128 + signal, Signal: signal}
	}
	failed := verdict.RankEnd{Worker: "w", Rank: "1", PID: 71, Code: 1}
	daemon := stacks.New("orted", -1, "w", wire.StackRecord{NoTerm: true, Process: wire.ProcessRecord{PID: 50}})
	for name, c := range map[string]struct {
		ranks   []stacks.Rank
		ends    []verdict.RankEnd
		rest    int
		missing int
		blamed  bool
	}{
		"a bystander was killed later":           {[]stacks.Rank{standing(0, true)}, []verdict.RankEnd{failed, ended(0, 15)}, 1, 0, true},
		"a bystander may be in a signal handler": {[]stacks.Rank{standing(0, false)}, []verdict.RankEnd{failed, ended(0, 9)}, 0, 1, false},
		"the failed rank still runs":             {[]stacks.Rank{standing(0, true), standing(1, true)}, []verdict.RankEnd{failed}, 1, 0, true},
		"most ranks were killed before":          {[]stacks.Rank{standing(0, true)}, []verdict.RankEnd{failed, ended(2, 9), ended(3, 9)}, 1, 2, true},
		"two of four may be blamed":              {[]stacks.Rank{standing(0, true), standing(2, true), standing(3, false)}, []verdict.RankEnd{failed}, 2, 1, false},
		"a daemon is not a rank":                 {[]stacks.Rank{daemon, standing(0, true)}, []verdict.RankEnd{failed}, 1, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			rest, missing := apartFrom(hang.Standing{Ranks: c.ranks}, failed, c.ends)
			require.Len(t, rest.Ranks, c.rest)
			require.Len(t, missing, c.missing)
			v := stacks.OfFailure(stacks.Failure{Sentence: "rank 1 failed", Tail: []string{"TimeoutError: timed out"}}, append(rest.Ranks, missing...))
			require.Equal(t, c.blamed, len(v.Suspects) > 0)
		})
	}
}

// TestBystandersAreAskedAtTheFirstFailure checks that the ranks of all workers are asked once, when
// the first report of a failed rank arrives.
func TestBystandersAreAskedAtTheFirstFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wg sync.WaitGroup
		account, links := tally.New(), fleet.NewLinks(nil, nil, wire.HelloRecord{}, 0, nil, nil)
		cfg := config.Config{Command: []string{"mpirun"}, Launching: config.Launching{Exit: verdict.ExitStrict}}
		h := hang.NewWatch(0, nil)
		b := NewBystanders(cfg, wg.Go, links.Askers, h, account)
		report := func(code int, kind string) {
			account.Report("w", wire.ReportRecord{Session: "s", Kind: kind, PID: 71, Rank: "1", MPI: true, Code: code})
		}
		account.Called("w", "s", nil)
		report(0, wire.ReportDone)
		require.Empty(t, b.due())
		report(1, wire.ReportRank)
		report(1, wire.ReportRank)
		require.Len(t, b.due(), 1)
		b.Begin(context.Background())
		require.Nil(t, b.due())
		began := time.Now()
		_, found := b.found()
		require.True(t, found)
		require.LessOrEqual(t, time.Since(began), hang.FailureStacks)
		wg.Wait()

		cfg.Stacks = config.StacksNever
		b = NewBystanders(cfg, wg.Go, links.Askers, h, account)
		require.Nil(t, b.due())
		_, found = b.found()
		require.False(t, found)
	})
}

const atStep = "Current thread 0x1 (most recent call first):\n  File \"/app/train.py\", line 40 in step\n"
