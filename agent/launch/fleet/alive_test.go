//go:build linux

package fleet

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous"
)

// pinged is a worker that counts the PINGs that it answers.
type pinged struct {
	count  atomic.Int64
	served sync.WaitGroup
}

// Dial implements link.Dialer.
func (p *pinged) Dial(context.Context) (io.ReadWriteCloser, error) {
	near, far := net.Pipe()
	p.served.Go(func() {
		reader := wire.NewReader(far)
		for f, err := reader.Next(); err == nil; f, err = reader.Next() {
			answer := wire.Frame{Type: wire.Pong, Offset: f.Offset}
			switch f.Type {
			case wire.Hello:
				answer, _ = wire.Record(wire.Welcome, 0, wire.WelcomeRecord{Proto: wire.ProtoMax, Instance: "i"})
			case wire.Ping:
				p.count.Add(1)
			}
			b, _ := wire.Append(nil, answer) // the frame is small and valid
			_, _ = far.Write(b)
		}
	})
	return near, nil
}

// unreachable is a worker without an answer.
type unreachable struct{}

// Dial implements link.Dialer.
func (unreachable) Dial(context.Context) (io.ReadWriteCloser, error) {
	return nil, &link.DialError{Kind: link.Server, Err: errors.New("no route")}
}

// TestAliveSparesTheOthers checks that workers are not asked for a sign of life while one has no
// link. The answer is known then, and thousands of links may change one after the other.
func TestAliveSparesTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLinks(nil, nil, wire.HelloRecord{}, time.Minute, nil, noAccount{})
		up := &pinged{}
		keep := func(name string, d link.Dialer) {
			l.Keep(t.Context(), rendezvous.Worker{Name: name}, func(note func(link.State)) *link.Link {
				return link.New(link.Config{Worker: name, Dialer: d, OnState: note, PingEvery: time.Hour, DeadAfter: 2 * time.Hour})
			})
		}
		keep("w-0", up)
		synctest.Wait()
		require.True(t, l.Alive(t.Context()))
		require.EqualValues(t, 1, up.count.Load())

		keep("w-1", unreachable{})
		synctest.Wait()
		require.False(t, l.Alive(t.Context()))
		require.EqualValues(t, 1, up.count.Load())
		l.Close()
		up.served.Wait()
	})
}
