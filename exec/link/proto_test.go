//go:build linux

package link_test

import (
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/test/contract"
)

// scripted is a worker that chooses a protocol version and answers PINGs as the test tells it. It
// sends the number of each PING to pings.
type scripted struct {
	proto int
	pings chan uint64
	pongs chan uint64
}

func newScripted(proto int) *scripted {
	return &scripted{proto: proto, pings: make(chan uint64, 8), pongs: make(chan uint64, 8)}
}

// Dial implements link.Dialer.
func (s *scripted) Dial(context.Context) (io.ReadWriteCloser, error) {
	near, far := net.Pipe()
	answers := make(chan wire.Frame, 8)
	go func() {
		defer close(answers)
		reader := wire.NewReader(far)
		for {
			f, err := reader.Next()
			if err != nil {
				return
			}
			switch f.Type {
			case wire.Hello:
				w, _ := wire.Record(wire.Welcome, 0, wire.WelcomeRecord{Proto: s.proto, Version: "old", Instance: "i"})
				answers <- w
			case wire.Ping:
				s.pings <- f.Offset
				answers <- wire.Frame{Type: wire.Pong, Offset: <-s.pongs}
			}
		}
	}()
	go func() {
		defer far.Close()
		for f := range answers {
			b, _ := wire.Append(nil, f) // the frame is small and valid
			if _, err := far.Write(b); err != nil {
				return
			}
		}
	}()
	return near, nil
}

func quietly(c *link.Config) { c.PingEvery, c.DeadAfter = time.Hour, time.Hour }

// TestProveNeedsItsOwnPong checks that since protocol 2 the answer to an earlier PING proves
// nothing. A worker with protocol 1 cannot distinguish PINGs.
func TestProveNeedsItsOwnPong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(wire.ProtoEcho)
		l := contract.NewLink(t, s, quietly)
		linked(t, l)
		proofs := make(chan bool, 2)
		prove := func() { proofs <- l.Prove(ctxFor(t)) }
		go prove()
		require.EqualValues(t, 1, <-s.pings)
		go prove()
		s.pongs <- 1
		require.True(t, <-proofs)
		require.EqualValues(t, 2, <-s.pings)
		synctest.Wait()
		select {
		case <-proofs:
			require.Fail(t, "Prove accepted the answer to another PING")
		default:
		}
		s.pongs <- 2
		require.True(t, <-proofs)

		go prove()
		require.EqualValues(t, 3, <-s.pings)
		s.pongs <- 99 // no such PING was sent, so the connection ends
		require.False(t, <-proofs)
	})
}

func TestProveOfAnOlderWorker(t *testing.T) {
	s := newScripted(1)
	l := contract.NewLink(t, s, quietly)
	linked(t, l)
	s.pongs <- 0
	require.True(t, l.Prove(ctxFor(t)))
	require.Zero(t, <-s.pings, "PINGs have no numbers in protocol 1")
}

// TestWelcomeOutsideOurRange checks that a worker may only choose a protocol version that was
// offered.
func TestWelcomeOutsideOurRange(t *testing.T) {
	for _, proto := range []int{0, wire.ProtoMax + 1} {
		l := link.New(link.Config{Worker: "w-0", Dialer: newScripted(proto), Hello: wire.HelloRecord{Version: "today"}})
		var lost *link.LostError
		require.ErrorAs(t, l.Run(ctxFor(t)), &lost)
		require.Equal(t, link.Incompatible, lost.Kind)
		require.Regexp(t, `agent old chose protocol \d, the launcher's today speaks 1 to 2`, lost.Error())
	}
}
