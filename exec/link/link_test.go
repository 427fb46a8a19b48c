//go:build linux

package link_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/local"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/session"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/test/contract"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ctxFor(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func epoch(created int64, uid string) func(*link.Config) {
	return func(c *link.Config) { c.Hello.Epoch = wire.Epoch{Created: created, UID: uid} }
}

// start opens a session that prints its pid and sleeps, and returns the session and the pid.
func start(t *testing.T, l *link.Link, line string) (*link.Session, int) {
	r, w := io.Pipe()
	s, err := l.Open(ctxFor(t), "", wire.Spec{Line: line}, link.Streams{Stdout: w})
	require.NoError(t, err)
	b := make([]byte, 32)
	n, err := r.Read(b)
	require.NoError(t, err)
	go func() { _, _ = io.Copy(io.Discard, r) }()
	t.Cleanup(func() { r.Close() })
	pid, err := strconv.Atoi(strings.TrimSpace(string(b[:n])))
	require.NoError(t, err)
	return s, pid
}

func requireGone(t *testing.T, pid int) {
	t.Helper()
	require.Eventually(t, func() bool {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || bytes.Contains(b, []byte(") Z "))
	}, 15*time.Second, 5*time.Millisecond, "pid %d still runs", pid)
}

func linked(t *testing.T, l *link.Link) {
	t.Helper()
	require.Eventually(t, func() bool { return l.State().Connected }, 10*time.Second, time.Millisecond)
}

func TestOlderLauncherIsRefused(t *testing.T) {
	w := contract.NewWorker(t, nil)
	newer := contract.NewLink(t, local.Dialer{Path: w.Socket}, epoch(2, "newer"))
	linked(t, newer)
	older := link.New(link.Config{Worker: "w-0", Dialer: local.Dialer{Path: w.Socket},
		Hello: wire.HelloRecord{Epoch: wire.Epoch{Created: 1, UID: "older"}}})
	err := older.Run(ctxFor(t))
	var lost *link.LostError
	require.ErrorAs(t, err, &lost)
	require.Equal(t, link.Superseded, lost.Kind)
	require.ErrorContains(t, err, "newer")
	require.ErrorContains(t, err, "older")
	require.True(t, newer.State().Connected)
}

func TestNewerLauncherFindsNoOldProcesses(t *testing.T) {
	w := contract.NewWorker(t, func(c *session.Config) { c.Grace = 200 * time.Millisecond })
	older := contract.NewLink(t, local.Dialer{Path: w.Socket}, epoch(1, "older"))
	s, pid := start(t, older, "trap '' TERM; (setsid env -i sleep 1000 & echo $!); wait; sleep 1000")
	newer := contract.NewLink(t, local.Dialer{Path: w.Socket}, epoch(2, "newer"))
	linked(t, newer)
	requireGone(t, pid)
	_, err := s.Wait(ctxFor(t))
	var lost *link.LostError
	require.ErrorAs(t, err, &lost)
	require.Equal(t, link.Superseded, lost.Kind)
	require.Zero(t, w.Server.Sessions())
}

func TestLeaseStopsTheSessions(t *testing.T) {
	w := contract.NewWorker(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	l := link.New(link.Config{Worker: "w-0", Dialer: local.Dialer{Path: w.Socket}, Lease: time.Second})
	ran := make(chan error)
	go func() { ran <- l.Run(ctx) }()
	_, pid := start(t, l, "echo $$; sleep 1000 & exec sleep 1000")
	cancel() // the launcher has ended, but the session continues until the lease expires
	require.NoError(t, <-ran)
	require.Equal(t, 1, w.Server.Sessions())
	requireGone(t, pid)
	require.Eventually(t, func() bool { return w.Server.Sessions() == 0 }, 10*time.Second, 5*time.Millisecond)
}

func TestReplacedWorkerIsLost(t *testing.T) {
	first := contract.NewWorker(t, nil)
	d := &switching{path: first.Socket}
	l := link.New(link.Config{Worker: "w-3", Dialer: d})
	ran := make(chan error)
	go func() { ran <- l.Run(ctxFor(t)) }()
	s, _ := start(t, l, "echo $$; sleep 1000")
	second := contract.NewWorker(t, func(c *session.Config) { c.Reaper = first.Reaper })
	d.move(second.Socket)
	err := <-ran
	var lost *link.LostError
	require.ErrorAs(t, err, &lost)
	require.Equal(t, link.Gone, lost.Kind)
	require.ErrorContains(t, err, "w-3")
	_, werr := s.Wait(ctxFor(t))
	require.Equal(t, err, werr)
	require.Zero(t, second.Server.Sessions(), "the session must not start on the new worker")
}

func TestDetachedSessionOutlivesItsLinkAndParks(t *testing.T) {
	w := contract.NewWorker(t, nil)
	l := contract.NewLink(t, local.Dialer{Path: w.Socket}, func(c *link.Config) {
		c.Lease, c.ParkAfter, c.PingEvery = 500*time.Millisecond, 50*time.Millisecond, 20*time.Millisecond
		c.ParkLease = time.Hour
	})
	var out bytes.Buffer
	s, err := l.Open(ctxFor(t), "", wire.Spec{Line: "setsid sleep 1000 >/dev/null 2>&1 </dev/null & echo $!"}, link.Streams{Stdout: &out})
	require.NoError(t, err)
	rec, err := s.Wait(ctxFor(t))
	require.NoError(t, err)
	require.Zero(t, rec.Code)
	require.True(t, rec.Detached)
	require.Eventually(t, func() bool { return l.State().Parked }, 5*time.Second, time.Millisecond)
	require.Equal(t, 1, w.Server.Sessions(), "the daemon keeps running under the longer lease")

	// A new session reconnects the link, which does not count as a redial.
	out.Reset()
	s, err = l.Open(ctxFor(t), "", wire.Spec{Line: "echo back"}, link.Streams{Stdout: &out})
	require.NoError(t, err)
	_, err = s.Wait(ctxFor(t))
	require.NoError(t, err)
	require.Equal(t, "back\n", out.String())
	require.Zero(t, l.State().Redials)
}

func TestWakeReportsWhetherTheWorkerAnswers(t *testing.T) {
	w := contract.NewWorker(t, nil)
	var away atomic.Bool
	near := local.Dialer{Path: w.Socket}
	l := contract.NewLink(t, dialFunc(func(ctx context.Context) (io.ReadWriteCloser, error) {
		if away.Load() {
			return nil, &link.DialError{Kind: link.Server, Err: errors.New("no route to the node")}
		}
		return near.Dial(ctx)
	}), func(c *link.Config) { c.ParkAfter, c.PingEvery = 50*time.Millisecond, 20*time.Millisecond })
	s, err := l.Open(ctxFor(t), "", wire.Spec{Line: "setsid sleep 1000 >/dev/null 2>&1 </dev/null &"}, link.Streams{})
	require.NoError(t, err)
	_, err = s.Wait(ctxFor(t))
	require.NoError(t, err)
	state := func(ok func(link.State) bool) link.State {
		t.Helper()
		require.Eventually(t, func() bool { return ok(l.State()) }, 10*time.Second, time.Millisecond)
		return l.State()
	}
	parked := state(func(s link.State) bool { return s.Parked })

	l.Wake() // the worker answers, so the link connects and parks again
	again := state(func(s link.State) bool { return s.Parked && s.Since.After(parked.Since) })
	require.Zero(t, again.Redials)

	away.Store(true)
	woken := time.Now()
	down := state(func(s link.State) bool {
		l.Wake() // a dial that is in progress may still succeed
		return !s.Parked && !s.Connected
	})
	require.False(t, down.Since.Before(woken), "the link counts as down since the failed dial, not since it was parked")
	require.ErrorContains(t, down.Last, "no route")

	away.Store(false)
	state(func(s link.State) bool { return s.Connected && s.Redials == 1 })
}

func TestProve(t *testing.T) {
	w := contract.NewWorker(t, nil)
	d := &stalling{inner: local.Dialer{Path: w.Socket}}
	l := contract.NewLink(t, d, func(c *link.Config) { c.PingEvery, c.DeadAfter = time.Hour, time.Hour })
	require.False(t, link.New(link.Config{Worker: "w-9"}).Prove(ctxFor(t)), "never connected")
	linked(t, l)
	for range 3 {
		require.True(t, l.Prove(ctxFor(t)))
	}
	d.stall()
	short, cancel := context.WithTimeout(ctxFor(t), 50*time.Millisecond)
	defer cancel()
	require.False(t, l.Prove(short), "the worker does not answer")
	proven := make(chan bool)
	go func() { proven <- l.Prove(ctxFor(t)) }()
	d.open.Close()
	require.False(t, <-proven, "the connection has ended")
}

func TestEndStopsEverythingAndTheWorker(t *testing.T) {
	w := contract.NewWorker(t, nil)
	l := contract.NewLink(t, local.Dialer{Path: w.Socket}, nil)
	_, pid := start(t, l, "(env -i setsid sleep 1000 >/dev/null 2>&1 & echo $!)")
	require.NoError(t, l.End(ctxFor(t), false, 100*time.Millisecond))
	requireGone(t, pid)
	require.Equal(t, session.JobOver, <-w.Server.Outcome())
}

// TestReplace checks that a worker that is to be replaced stops everything, and ends in another way
// than at the end of a job.
func TestReplace(t *testing.T) {
	w := contract.NewWorker(t, nil)
	l := contract.NewLink(t, local.Dialer{Path: w.Socket}, nil)
	_, pid := start(t, l, "(env -i setsid sleep 1000 >/dev/null 2>&1 & echo $!)")
	require.NoError(t, l.End(ctxFor(t), true, 100*time.Millisecond), "as between two attempts")
	require.NoError(t, l.Replace(ctxFor(t), names.WhyPreflight, 100*time.Millisecond))
	requireGone(t, pid)
	require.Equal(t, session.Replaced, <-w.Server.Outcome())
	require.Equal(t, names.WhyPreflight, w.Server.ReplacedWhy())
}

// TestAnOldWorkerStays checks that a worker whose WELCOME lacks these fields is not ended in the wrong
// way, and is not asked for files.
func TestAnOldWorkerStays(t *testing.T) {
	l := contract.NewLink(t, newScripted(wire.ProtoMax), quietly)
	linked(t, l)
	require.ErrorIs(t, l.Replace(ctxFor(t), "", time.Second), link.ErrNotReplaced)
	_, err := l.Newest(ctxFor(t), "*.pt")
	require.ErrorIs(t, err, link.ErrNoNewest)
}

func TestNewest(t *testing.T) {
	dir := t.TempDir()
	w := contract.NewWorker(t, func(c *session.Config) { c.Dir = dir })
	l := contract.NewLink(t, local.Dialer{Path: w.Socket}, nil)
	at, err := l.Newest(ctxFor(t), "*.pt")
	require.NoError(t, err)
	require.True(t, at.IsZero())
	path, want := filepath.Join(dir, "1.pt"), time.Unix(1_700_000_000, 123)
	require.NoError(t, os.WriteFile(path, nil, 0o644))
	require.NoError(t, os.Chtimes(path, want, want))
	for _, glob := range []string{"*.pt", path} {
		at, err = l.Newest(ctxFor(t), glob)
		require.NoError(t, err)
		require.True(t, at.Equal(want), "%s: %s", glob, at)
	}
	_, err = l.Newest(ctxFor(t), path+"/*.pt")
	require.ErrorContains(t, err, "not a directory")
}

func TestEndThatKeepsTheWorker(t *testing.T) {
	w := contract.NewWorker(t, nil)
	l := contract.NewLink(t, local.Dialer{Path: w.Socket}, nil)
	_, pid := start(t, l, "echo $$; sleep 1000")
	require.NoError(t, l.End(ctxFor(t), true, 100*time.Millisecond))
	requireGone(t, pid)
	for range 3 { // each attempt of a group ends this way before the next one starts
		_, pid = start(t, l, "trap '' TERM; echo $$; while :; do sleep 0.1; done")
		require.NoError(t, l.End(ctxFor(t), true, 100*time.Millisecond))
		requireGone(t, pid)
	}
	next := contract.NewLink(t, local.Dialer{Path: w.Socket}, epoch(2, "next"))
	linked(t, next)
	require.Empty(t, w.Server.Outcome())
}

func TestWorkerWithoutALauncherEnds(t *testing.T) {
	w := contract.NewWorker(t, func(c *session.Config) { c.Await = 50 * time.Millisecond })
	select {
	case o := <-w.Server.Outcome():
		require.Equal(t, session.NoLaunch, o)
	case <-time.After(10 * time.Second):
		t.Fatal("the worker still waits")
	}
}

func TestSameIDStartsOnce(t *testing.T) {
	w := contract.NewWorker(t, nil)
	l := contract.NewLink(t, local.Dialer{Path: w.Socket}, nil)
	spec := wire.Spec{Line: "echo x >>starts; read y"}
	pr, pw := io.Pipe()
	a, err := l.Open(ctxFor(t), "the-id", spec, link.Streams{Stdin: pr})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return w.Server.Sessions() == 1 }, 5*time.Second, time.Millisecond)
	b, err := l.Open(ctxFor(t), "the-id", wire.Spec{Line: "another"}, link.Streams{})
	require.NoError(t, err)
	_, err = b.Wait(ctxFor(t))
	require.ErrorContains(t, err, "another command")
	pw.Close()
	_, err = a.Wait(ctxFor(t))
	require.NoError(t, err)
	starts, err := os.ReadFile(w.Dir + "/starts")
	require.NoError(t, err)
	require.Equal(t, "x\n", string(starts))
}

func TestWorkerThatDoesNotAnswer(t *testing.T) {
	tries := make(chan struct{}, 100)
	l := link.New(link.Config{Worker: "w-0", DialTimeout: 20 * time.Millisecond, Dialer: dialFunc(func(context.Context) (io.ReadWriteCloser, error) {
		tries <- struct{}{}
		return newSilent(), nil
	})})
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error)
	go func() { ran <- l.Run(ctx) }()
	<-tries
	<-tries
	require.ErrorContains(t, l.State().Last, "no answer")
	cancel()
	require.NoError(t, <-ran)
}

func TestForbiddenIsTerminalAfterAWhile(t *testing.T) {
	l := link.New(link.Config{Worker: "w-0", FirstAuth: 300 * time.Millisecond, Dialer: dialFunc(func(context.Context) (io.ReadWriteCloser, error) {
		return nil, &link.DialError{Kind: link.Forbidden, Err: errors.New("pods/exec is forbidden")}
	})})
	began := time.Now()
	err := l.Run(ctxFor(t))
	var lost *link.LostError
	require.ErrorAs(t, err, &lost)
	require.Equal(t, link.Forbidden, lost.Kind)
	require.GreaterOrEqual(t, time.Since(began), 300*time.Millisecond)
}

func TestDeadConnectionIsRedialed(t *testing.T) {
	w := contract.NewWorker(t, nil)
	d := &stalling{inner: local.Dialer{Path: w.Socket}}
	l := contract.NewLink(t, d, func(c *link.Config) { c.PingEvery, c.DeadAfter = 20*time.Millisecond, 100*time.Millisecond })
	pr, pw := io.Pipe()
	var out bytes.Buffer
	s, err := l.Open(ctxFor(t), "", wire.Spec{Line: "cat; exit 4"}, link.Streams{Stdin: pr, Stdout: &out})
	require.NoError(t, err)
	for i := range 3 {
		linked(t, l)
		fmt.Fprintf(pw, "line %d\n", i)
		d.stall()
		require.Eventually(t, func() bool { return l.State().Redials == i+1 }, 10*time.Second, time.Millisecond)
	}
	pw.Close()
	rec, err := s.Wait(ctxFor(t))
	require.NoError(t, err)
	require.Equal(t, 4, rec.Code)
	require.Equal(t, "line 0\nline 1\nline 2\n", out.String())
}

func TestLinkWithShortConnectionsMakesProgress(t *testing.T) {
	w := contract.NewWorker(t, nil)
	l := contract.NewLink(t, mortal{local.Dialer{Path: w.Socket}, 64 << 10}, nil)
	h, want := fnv.New64(), fnv.New64()
	s, err := l.Open(ctxFor(t), "", wire.Spec{Line: "seq 300000; exit 6"}, link.Streams{Stdout: h})
	require.NoError(t, err)
	rec, err := s.Wait(ctxFor(t))
	require.NoError(t, err)
	require.Equal(t, 6, rec.Code)
	for i := range 300000 {
		fmt.Fprintln(want, i+1)
	}
	require.Equal(t, want.Sum64(), h.Sum64())
	require.Greater(t, l.State().Redials, 20)
}
