//go:build linux

package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/proc"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
)

// mpis records whether the daemons of an MPI leave the session that started them.
var mpis = map[string]bool{"Open MPI 4": true, "Open MPI 5": false, "MPICH 4.0": false, "MPICH 4.2": false, "Intel MPI": false}

// bond holds a worker, a launcher's link to it, and the connection between them.
type bond struct {
	t      *testing.T
	server *Server
	link   *link.Link
	cut    atomic.Bool // whether dials fail
	ends   chan *session
	lost   error
}

// Dial implements link.Dialer.
func (b *bond) Dial(ctx context.Context) (io.ReadWriteCloser, error) {
	if b.cut.Load() {
		return nil, &link.DialError{Kind: link.Server, Err: errors.New("cut")}
	}
	near, far := net.Pipe()
	b.server.wg.Go(func() {
		defer far.Close()
		c := newConn(b.server, far)
		hello, err := c.readHello()
		if err != nil {
			return
		}
		if w, err := b.server.admit(ctx, c, hello); err == nil {
			_ = c.serve(w) // the link handles the end of the connection
		}
		b.server.dropConn(c)
	})
	return near, nil
}

// begin replaces start: it starts a daemon that stays in its session until it is told to end, or
// that leaves the session at once.
func (b *bond) begin(x *session, spec wire.Spec) {
	b.server.mu.Lock()
	x.enter(running)
	b.server.mu.Unlock()
	close(x.started)
	x.stdout.End()
	x.stderr.End()
	if spec.Line == "detach" {
		x.finish(&wire.ExitRecord{Detached: true})
	}
	b.ends <- x
}

// newBond returns a worker with --await, and a launcher with that lease. An open link is never
// parked, as links to fake workers are not.
func newBond(t *testing.T, await, lease time.Duration, open bool) *bond {
	b := &bond{t: t, ends: make(chan *session, 1)}
	b.server = New(Config{Reaper: reap.New(), Log: slog.New(slog.DiscardHandler), Dir: "/", Await: await})
	b.server.begin = b.begin
	park := time.Duration(0)
	if open {
		park = -1
	}
	b.link = link.New(link.Config{Worker: "w-0", Dialer: b, Lease: lease, PingEvery: min(5*time.Second, lease/4), ParkAfter: park})
	ctx, cancel := context.WithCancel(t.Context())
	b.server.wg.Go(func() { b.server.clock(ctx) })
	ran := make(chan error)
	go func() { ran <- b.link.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		b.lost = <-ran
		b.server.abandon()
		b.server.wg.Wait()
	})
	synctest.Wait()
	return b
}

// mpirun simulates a launch on the worker that takes the given time.
func (b *bond) mpirun(detaches bool, takes time.Duration) {
	line := "stay"
	if detaches {
		line = "detach"
	}
	s, err := b.link.Open(b.t.Context(), "", wire.Spec{Line: line}, link.Streams{})
	require.NoError(b.t, err)
	x := <-b.ends
	time.Sleep(takes)
	if detaches {
		b.server.mu.Lock()
		x.enter(ended)
		b.server.dropLocked(x)
		b.server.mu.Unlock()
		b.server.kick()
	} else {
		x.finish(&wire.ExitRecord{})
	}
	_, err = s.Wait(b.t.Context())
	require.NoError(b.t, err)
}

// outcome returns the worker's decision so far, or -1 if the worker continues.
func (b *bond) outcome() Outcome {
	synctest.Wait()
	select {
	case o := <-b.server.Outcome():
		return o
	default:
		return -1
	}
}

// TestWorkersOutlivePauses checks that a worker with a live launcher stays, however long the
// launcher pauses between and after launches, and that the worker gets the END.
func TestWorkersOutlivePauses(t *testing.T) {
	pauses := []time.Duration{0, time.Minute, 2 * time.Minute, 15 * time.Minute}
	workers := []struct {
		await, lease time.Duration
		open         bool
	}{
		{time.Minute, time.Minute, true}, // --fake
		{10 * time.Minute, 15 * time.Minute, false},
		{time.Minute, 15 * time.Minute, false},
		{time.Minute, 2 * time.Hour, false},
		{0, 15 * time.Minute, false},
	}
	for mpi, detaches := range mpis {
		for _, w := range workers {
			for _, between := range pauses {
				for _, after := range pauses {
					for _, keep := range []bool{false, true} {
						t.Run(fmt.Sprintf("%s/%v/%v+%v/keep=%v", mpi, w, between, after, keep), func(t *testing.T) {
							synctest.Test(t, func(t *testing.T) {
								b := newBond(t, w.await, w.lease, w.open)
								for range 3 {
									b.mpirun(detaches, time.Second)
									time.Sleep(between)
								}
								b.mpirun(detaches, 3*time.Minute)
								time.Sleep(after)
								require.EqualValues(t, -1, b.outcome(), "the worker has decided to end")
								asked := time.Now()
								require.NoError(t, b.link.End(t.Context(), keep, time.Second))
								require.Less(t, time.Since(asked), 3*time.Second)
								want := JobOver
								if keep {
									want = -1
								}
								time.Sleep(3 * time.Second)
								require.Equal(t, want, b.outcome())
							})
						})
					}
				}
			}
		}
	}
}

// TestWorkersOutliveCuts checks that a worker does not treat its launcher as dead because a parked
// link cannot be redialed for a while. The next mpirun must find the worker.
func TestWorkersOutliveCuts(t *testing.T) {
	for _, await := range []time.Duration{time.Minute, 10 * time.Minute, 0} {
		for _, cut := range []time.Duration{time.Minute, 2 * time.Minute, 14 * time.Minute} {
			t.Run(fmt.Sprintf("%v/%v", await, cut), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBond(t, await, 15*time.Minute, false)
					b.mpirun(true, time.Second)
					time.Sleep(2 * time.Minute)
					require.True(t, b.link.State().Parked)
					b.cut.Store(true)
					b.link.Wake()
					time.Sleep(cut)
					require.EqualValues(t, -1, b.outcome(), "the worker has decided to end")
					b.cut.Store(false)
					b.mpirun(true, time.Second)
					require.NoError(t, b.link.End(t.Context(), false, time.Second))
				})
			})
		}
	}
}

// TestWorkersGiveUp checks that a worker whose launcher is lost waits for the last lease that it
// received, or for --await, and no longer.
func TestWorkersGiveUp(t *testing.T) {
	for _, row := range []struct {
		name                  string
		await, pause, patient time.Duration
		open                  bool
	}{
		{"fake", time.Minute, 5 * time.Minute, time.Minute, true},
		{"open link", 10 * time.Minute, 0, 15 * time.Minute, false},
		{"open link, long --await", 20 * time.Minute, 0, 20 * time.Minute, false},
		{"parked link", 10 * time.Minute, 5 * time.Minute, time.Hour, false},
		{"parked link, long --await", 2 * time.Hour, 5 * time.Minute, 2 * time.Hour, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lease := 15 * time.Minute
				if row.open {
					lease = time.Minute
				}
				b := newBond(t, row.await, lease, row.open)
				b.mpirun(true, time.Second)
				time.Sleep(row.pause)
				b.cut.Store(true)
				b.link.Lose(link.Gone, errors.New("killed"))
				b.server.mu.Lock()
				heard := b.server.heard
				b.server.mu.Unlock()
				time.Sleep(time.Until(heard.Add(row.patient - time.Second)))
				require.EqualValues(t, -1, b.outcome())
				time.Sleep(2*time.Second + proc.KillMargin + b.server.cfg.Grace)
				require.Equal(t, NoLaunch, b.outcome())
			})
		})
	}
}
