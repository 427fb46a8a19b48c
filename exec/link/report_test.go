package link

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestStatesComeInOrder checks that the owner gets one state at a time, and never an older one after
// a newer one, while a session ends and the connection changes.
func TestStatesComeInOrder(t *testing.T) {
	var busy atomic.Bool
	var wrong, steps int // guarded by the link, which makes one call at a time
	var last State
	l := New(Config{Worker: "w-0", OnState: func(s State) {
		if !busy.CompareAndSwap(false, true) || s.Redials < last.Redials {
			wrong++
		}
		last = s
		steps++
		runtime.Gosched()
		busy.Store(false)
	}})
	const changes = 1000
	var callers sync.WaitGroup
	callers.Go(func() { // Run
		for i := range changes {
			l.mu.Lock()
			l.standing.transition([...]phase{up, down}[i%2], time.Now())
			l.mu.Unlock()
			l.report()
		}
	})
	callers.Go(func() { // ends of sessions
		for range changes {
			l.report()
		}
	})
	callers.Wait()
	require.Zero(t, wrong)
	require.Equal(t, 2*changes, steps)
	require.Equal(t, l.State(), last)
}
