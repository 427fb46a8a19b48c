package group

import (
	"context"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/wire"
)

// crowd opens sessions that are confirmed when a test says so, and that end some time after a stop.
type crowd struct {
	mu       sync.Mutex
	opened   int
	sessions []*crowded
}

type crowded struct {
	*stage
	confirm func()
}

func (c *crowd) Open(ctx context.Context, id string, spec wire.Spec, stdout, stderr io.Writer) (Session, error) {
	s := &crowded{stage: newStage(act{term: 2 * openingTime})}
	if _, err := s.Open(ctx, id, spec, stdout, stderr); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened++
	c.sessions = append(c.sessions, s)
	return s, nil
}

func (s *crowded) Confirmed(f func()) bool {
	s.confirm = f
	return true
}

// confirm confirms the first n sessions that have not been, and returns how many there were.
func (c *crowd) confirm(n int) int {
	c.mu.Lock()
	first := c.sessions[:min(n, len(c.sessions))]
	c.sessions = c.sessions[len(first):]
	c.mu.Unlock()
	for _, s := range first {
		s.confirm()
	}
	return len(first)
}

func (c *crowd) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.opened
}

// crowded starts a group of n processes. end ends it and returns the result.
func crowdOf(t *testing.T, n int, change func(*Config)) (c *crowd, g *Group, end func() Result) {
	t.Helper()
	c = &crowd{}
	cfg := Config{Grace: 10 * time.Second, FailGrace: 5 * time.Second}
	for i := range n {
		cfg.Processes = append(cfg.Processes, Process{Label: "rank", Worker: string(rune('a' + i%2)), Opener: c})
	}
	if change != nil {
		change(&cfg)
	}
	g = New(cfg)
	results := make(chan Result, 1)
	go func() { results <- g.Run(t.Context()) }()
	synctest.Wait()
	return c, g, func() Result { return <-results }
}

func TestSessionsAreOpenedAsTheyAreConfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 3*mostOpening + 5
		c, g, end := crowdOf(t, n, nil)
		require.Equal(t, mostOpening, c.count(), "nothing is confirmed")
		c.confirm(7)
		synctest.Wait()
		require.Equal(t, mostOpening+7, c.count())
		for c.confirm(mostOpening) > 0 {
			synctest.Wait()
		}
		require.Equal(t, n, c.count())
		time.Sleep(time.Hour)
		require.Equal(t, n, c.count())
		g.Signal(15)
		require.True(t, end().Stopped)
	})
}

func TestSilentWorkersDelayOthersForASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, g, end := crowdOf(t, 2*mostOpening+5, nil)
		time.Sleep(openingTime - time.Millisecond)
		c.confirm(1) // a late answer does not postpone the next turn
		synctest.Wait()
		require.Equal(t, mostOpening+1, c.count())
		time.Sleep(time.Millisecond)
		synctest.Wait()
		require.Equal(t, 2*mostOpening+1, c.count())
		time.Sleep(openingTime)
		synctest.Wait()
		require.Equal(t, 2*mostOpening+5, c.count())
		c.confirm(2 * mostOpening) // of sessions that no longer count
		g.Signal(15)
		require.True(t, end().Stopped)
	})
}

// TestWaitingProcessesAreNotStartedAtTheEnd checks that a group ends without the processes that wait for their turn.
func TestWaitingProcessesAreNotStartedAtTheEnd(t *testing.T) {
	for name, stop := range map[string]func(g *Group){
		"told to stop":    func(g *Group) { g.Signal(15) },
		"killed":          func(g *Group) { g.Signal(9) },
		"a worker leaves": func(g *Group) { g.Leave("a", 10*time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ends, started := 0, time.Now()
				c, g, end := crowdOf(t, 2*mostOpening, func(cfg *Config) {
					cfg.OnEnd = func(End, bool) { ends++ }
				})
				stop(g)
				r := end()
				require.True(t, r.Stopped)
				require.Empty(t, r.Left)
				require.Equal(t, mostOpening, c.count())
				require.Equal(t, mostOpening, ends, "only started processes end")
				require.Less(t, time.Since(started), 10*time.Second)
			})
		})
	}
}
