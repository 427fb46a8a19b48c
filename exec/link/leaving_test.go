//go:build linux

package link_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/local"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/test/contract"
)

// daemonLine returns a shell line that runs a process with the name of an Open MPI daemon. The
// daemon has a rank that reports how it is told to end.
func daemonLine(t *testing.T) string {
	dir := t.TempDir()
	orted, never := filepath.Join(dir, "orted"), filepath.Join(dir, "never")
	require.NoError(t, os.Symlink("/bin/bash", orted))
	require.NoError(t, syscall.Mkfifo(never, 0o600))
	return "exec " + orted + ` -c 'trap "echo daemon asked; exit 0" TERM; exec 3<>` + never + `
RANK=5 bash -c "trap \"sleep 1; echo saved; exit 0\" TERM; echo up; while :; do sleep 0.05; done" & wait; read x <&3'`
}

// TestLeavingWorkerHoldsDaemons checks a worker that is told to stop. The worker must report that,
// answer when its ranks have saved, and end its daemons when the launcher ends the sessions.
func TestLeavingWorkerHoldsDaemons(t *testing.T) {
	w := contract.NewWorker(t, nil)
	var mu sync.Mutex
	var told []wire.ReportRecord
	l := contract.NewLink(t, local.Dialer{Path: w.Socket}, func(c *link.Config) {
		c.OnReport = func(rec wire.ReportRecord) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, rec)
		}
	})
	linked(t, l)
	out := &said{}
	s, err := l.Open(ctxFor(t), "", wire.Spec{Line: daemonLine(t)}, link.Streams{Stdout: out})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return out.text() == "up\n" }, 10*time.Second, 10*time.Millisecond)

	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.Server.Preempt(context.Background(), syscall.SIGTERM, 40*time.Second)
	}()
	leaving := func() *wire.ReportRecord {
		mu.Lock()
		defer mu.Unlock()
		for _, rec := range told {
			if rec.Kind == wire.ReportLeaving {
				return &rec
			}
		}
		return nil
	}
	require.Eventually(t, func() bool { return leaving() != nil }, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, int64(40_000), leaving().GraceMillis)
	require.Equal(t, 15, leaving().Signal)

	rec := wire.EndRanksRecord{Number: 1, Signal: int(syscall.SIGTERM), GraceMillis: 40_000}
	got, err := l.EndRanks(ctxFor(t), rec)
	require.NoError(t, err)
	require.Equal(t, wire.RanksRecord{Asked: 1, Ranks: []wire.EndingRank{{Rank: "5", Lives: true}}}, got)
	rec.Wait = true
	got, err = l.EndRanks(ctxFor(t), rec)
	require.NoError(t, err)
	require.Zero(t, got.Living)
	require.Len(t, got.Ranks, 1)
	require.False(t, got.Ranks[0].Lives)
	require.Equal(t, "up\nsaved\n", out.text(), "the daemon is not stopped yet")

	s.Stop(20 * time.Second)
	exit, err := s.Wait(ctxFor(t))
	require.NoError(t, err)
	require.Equal(t, wire.ReasonPreempted, exit.Reason)
	require.Equal(t, "up\nsaved\ndaemon asked\n", out.text())
	<-ended
}

// TestLeavingWorkerReports checks that a worker reports a stop for ranks of a launcher on another
// worker, such as horovodrun, and for processes of a group, but not for other processes.
func TestLeavingWorkerReports(t *testing.T) {
	const saves = `trap 'exit 0' TERM; echo up; while :; do sleep 0.05; done`
	for name, c := range map[string]struct {
		spec wire.Spec
		told bool
	}{
		"a rank of a launcher":      {wire.Spec{Line: `HOROVOD_RANK=1 bash -c "` + saves + `"`}, true},
		"a command without a rank":  {wire.Spec{Line: saves}, false},
		"a process without a group": {wire.Spec{Argv: []string{"/bin/bash", "-c", saves}, Env: []string{"RANK=1"}}, false},
		"a process of a group":      {wire.Spec{Argv: []string{"/bin/bash", "-c", saves}, EndsOnFailure: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := contract.NewWorker(t, nil)
			var told atomic.Bool
			l := contract.NewLink(t, local.Dialer{Path: w.Socket}, func(c *link.Config) {
				c.OnReport = func(rec wire.ReportRecord) {
					if rec.Kind == wire.ReportLeaving {
						told.Store(true)
					}
				}
			})
			linked(t, l)
			out := &said{}
			_, err := l.Open(ctxFor(t), "", c.spec, link.Streams{Stdout: out})
			require.NoError(t, err)
			require.Eventually(t, func() bool { return out.text() != "" }, 10*time.Second, 10*time.Millisecond)
			began := time.Now()
			w.Server.Preempt(context.Background(), syscall.SIGTERM, 40*time.Second)
			require.Less(t, time.Since(began), 20*time.Second)
			require.Equal(t, c.told, told.Load())
		})
	}
}

// TestSavingRankIsAskedOnce checks that a stop sends no second TERM to a rank that another stop has
// already told to end. The rank would restart its save.
func TestSavingRankIsAskedOnce(t *testing.T) {
	const rank = `trap "echo asked; asked=1" TERM; asked=; echo up; while [ -z "$asked" ]; do sleep 0.05; done; for i in {1..50}; do sleep 0.05; done; echo saved; exit 0`
	orted := filepath.Join(t.TempDir(), "orted")
	require.NoError(t, os.Symlink("/bin/bash", orted))
	under := `exec ` + orted + ` -c 'trap "exit 0" TERM; RANK=5 bash -c "$SAVES" & wait'`
	const alone = `RANK=5 exec bash -c "$SAVES"`
	endRanks := func(t *testing.T, _ *contract.Worker, l *link.Link, _ *link.Session) {
		got, err := l.EndRanks(ctxFor(t), wire.EndRanksRecord{Number: 1, Signal: int(syscall.SIGTERM), GraceMillis: 1000})
		require.NoError(t, err)
		require.Equal(t, 1, got.Asked)
	}
	stop := func(_ *testing.T, _ *contract.Worker, _ *link.Link, s *link.Session) { s.Stop(20 * time.Second) }
	preempt := func(t *testing.T, w *contract.Worker, _ *link.Link, _ *link.Session) {
		var stopped sync.WaitGroup
		stopped.Go(func() { w.Server.Preempt(context.Background(), syscall.SIGTERM, 20*time.Second) })
		t.Cleanup(stopped.Wait)
	}
	end := func(t *testing.T, _ *contract.Worker, l *link.Link, _ *link.Session) {
		var ended sync.WaitGroup
		ended.Go(func() { _ = l.End(t.Context(), true, 20*time.Second) }) // the session shows what it did
		t.Cleanup(ended.Wait)
	}
	type order func(*testing.T, *contract.Worker, *link.Link, *link.Session)
	for name, c := range map[string]struct {
		line        string
		first, then order
	}{
		"the worker after its ranks, with daemons":    {under, endRanks, preempt},
		"the worker after its ranks, without daemons": {alone, endRanks, preempt},
		"the session after its ranks":                 {alone, endRanks, stop},
		"the worker after the session":                {alone, stop, preempt},
		"the job after the session":                   {alone, stop, end},
		"the job after the worker":                    {alone, preempt, end},
	} {
		t.Run(name, func(t *testing.T) {
			w := contract.NewWorker(t, nil)
			l := contract.NewLink(t, local.Dialer{Path: w.Socket}, nil)
			linked(t, l)
			out := &said{}
			s, err := l.Open(ctxFor(t), "", wire.Spec{Line: c.line, Env: []string{"SAVES=" + rank}}, link.Streams{Stdout: out})
			require.NoError(t, err)
			require.Eventually(t, func() bool { return out.text() == "up\n" }, 10*time.Second, 10*time.Millisecond)
			c.first(t, w, l, s)
			require.Eventually(t, func() bool { return out.text() == "up\nasked\n" }, 10*time.Second, 10*time.Millisecond)
			c.then(t, w, l, s)
			_, err = s.Wait(ctxFor(t))
			require.NoError(t, err)
			require.Equal(t, "up\nasked\nsaved\n", out.text())
		})
	}
}
