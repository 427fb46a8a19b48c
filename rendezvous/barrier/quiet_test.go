package barrier

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// dark is a connection on which nothing arrives after pulled is closed, without an error, as with a
// pulled cable.
type dark struct {
	net.Conn
	pulled chan struct{}
}

func (d *dark) Write(p []byte) (int, error) {
	select {
	case <-d.pulled:
		return len(p), nil
	default:
		return d.Conn.Write(p)
	}
}

// TestSilence checks that both sides close a connection on which nothing has arrived for Quiet.
// Before that, and while pings arrive, nothing happens.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		h := &hall{Coordinator: NewCoordinator(Config{Size: 1, Token: []byte(secret), Name: "job-0"})}
		rested := make(chan struct{})
		go func() {
			defer close(rested)
			h.Rest(ctx)
		}()
		pulled, roads := make(chan struct{}), 0
		p := joinBy(t, func(ctx context.Context) (net.Conn, error) {
			if roads++; roads > 1 {
				return nil, errors.New("no connection")
			}
			ours, theirs := net.Pipe()
			h.Take(ctx, &dark{theirs, pulled})
			return &dark{ours, pulled}, nil
		}, card(0, 1), secret)
		time.Sleep(10 * time.Minute)
		require.True(t, h.Seats()[0].Here)
		require.Zero(t, p.lost())

		close(pulled)
		time.Sleep(Quiet - pingEvery - time.Second)
		require.True(t, h.Seats()[0].Here)
		time.Sleep(pingEvery + 2*time.Second)
		require.False(t, h.Seats()[0].Here)
		require.Contains(t, []string{"no answer for 12s", "it closed its connection"}, h.Seats()[0].Why)
		require.NotZero(t, p.lost())
		p.leave()
		cancel()
		<-rested
	})
}

// buffered is a connection whose writes arrive later and do not wait for a reader, as with TCP.
type buffered struct {
	net.Conn
	queue chan []byte
}

func (b *buffered) Write(p []byte) (int, error) {
	b.queue <- append([]byte(nil), p...)
	return len(p), nil
}

// TestReplacementWaitsForALeavingMember checks that a replacement is not refused, and keeps its
// connection, while the member before it saves its work.
func TestReplacementWaitsForALeavingMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		h := &hall{Coordinator: NewCoordinator(Config{Size: 1, Token: []byte(secret), Name: "job-0"})}
		rested := make(chan struct{})
		go func() {
			defer close(rested)
			h.Rest(ctx)
		}()
		var writers sync.WaitGroup
		dial := func(ctx context.Context) (net.Conn, error) {
			ours, theirs := net.Pipe()
			h.Take(ctx, theirs)
			b := &buffered{ours, make(chan []byte, 1000)}
			writers.Go(func() {
				for {
					select {
					case p := <-b.queue:
						time.Sleep(time.Millisecond)
						_, _ = ours.Write(p) // the test sees the end of the connection
					case <-ctx.Done():
						return
					}
				}
			})
			return b, nil
		}
		leaves := joinBy(t, dial, card(0, 1), secret)
		leaves.Report(News{Leaving: "its pod was told to stop by SIGTERM"})
		time.Sleep(time.Second)
		next := card(0, 1)
		next.Instance = "next"
		p := joinBy(t, dial, next, secret)
		time.Sleep(10 * time.Minute)
		require.Empty(t, p.end, "the replacement has ended")
		require.Zero(t, p.lost())
		require.Equal(t, "i0", h.Seats()[0].Card.Instance)
		leaves.leave()
		synctest.Wait()
		require.Equal(t, "next", h.gather(t)[0].Instance)
		p.leave()
		cancel()
		<-rested
		writers.Wait()
	})
}
