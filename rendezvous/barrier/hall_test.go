package barrier

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const secret = "a token that nobody guesses"

// hall is a coordinator that serves on loopback until the test ends.
type hall struct {
	*Coordinator
	address string
	close   func()
}

func serve(t testing.TB, size int, change func(*Config)) *hall {
	t.Helper()
	cfg := Config{Size: size, Token: []byte(secret), Name: "job-0"}
	if change != nil {
		change(&cfg)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return serveOn(t, cfg, l)
}

func serveOn(t testing.TB, cfg Config, l net.Listener) *hall {
	t.Helper()
	h := &hall{Coordinator: NewCoordinator(cfg), address: l.Addr().String()}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Serve(ctx, l) }()
	h.close = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-done)
	})
	t.Cleanup(h.close)
	return h
}

// player is a member that runs until the test ends, and records its events.
type player struct {
	*Member
	mu     sync.Mutex
	orders []Order
	works  []string
	aways  []string
	leave  func()
	end    chan error
}

func card(rank, size int) Card {
	return Card{Rank: rank, Size: size, Name: fmt.Sprintf("job-%d", rank), Instance: fmt.Sprintf("i%d", rank)}
}

func dialer(address string) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", address)
	}
}

func join(t testing.TB, address string, c Card, token string) *player {
	t.Helper()
	return joinBy(t, dialer(address), c, token)
}

func joinBy(t testing.TB, dial func(context.Context) (net.Conn, error), c Card, token string) *player {
	t.Helper()
	p := &player{Member: NewMember(MemberConfig{Card: c, Token: []byte(token), Dial: dial}), end: make(chan error, 1)}
	p.Report(News{Ready: true, Attempt: -1})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		p.end <- p.Run(ctx)
		cancel()
	})
	wg.Go(func() {
		for {
			select {
			case e := <-p.Events():
				p.take(e)
			case <-ctx.Done():
				return
			}
		}
	})
	p.leave = sync.OnceFunc(func() {
		cancel()
		wg.Wait()
	})
	t.Cleanup(p.leave)
	return p
}

func (p *player) take(e Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case e.Order != nil:
		p.orders = append(p.orders, *e.Order)
	case e.Work != nil:
		p.works = append(p.works, string(e.Work))
	case e.Away != nil:
		p.aways = append(p.aways, e.Away.Error())
	}
}

func (p *player) last() Order {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.orders) == 0 {
		return Order{}
	}
	return p.orders[len(p.orders)-1]
}

// lost returns how often the member lost its connection to rank 0.
func (p *player) lost() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.aways)
}

const patience = 20 * time.Second

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, patience, 5*time.Millisecond, what)
}

// gather waits until all members have joined, and returns their table.
func (h *hall) gather(t testing.TB) Table {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	table, absent, err := h.Gather(ctx, Order{})
	require.NoError(t, err, "absent: %v", absent)
	return table
}

func (h *hall) run(t testing.TB, attempt int, table Table) {
	t.Helper()
	packed, err := table.Pack()
	require.NoError(t, err)
	require.NoError(t, h.Tell(Order{Phase: PhaseRun, Attempt: attempt, Table: packed}))
}

// missing returns the members that have not joined within d.
func (h *hall) missing(t testing.TB, d time.Duration) []Absent {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	_, absent, err := h.Gather(ctx, Order{})
	require.Error(t, err)
	return absent
}
