package barrier

import (
	"context"
	"errors"
	"net"
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
