package flow

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// screen collects the output of two streams.
type screen struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

// ordered returns two streams whose output keeps the order of arrival.
func ordered() (a, b *In) {
	a, b = NewIn(1<<20, func() {}), NewIn(1<<20, func() {})
	Order(a, b)
	return a, b
}

// written runs the writers of both streams until both streams have ended.
func written(t *testing.T, a, b *In, toA, toB io.Writer) {
	var writers sync.WaitGroup
	writers.Go(func() { require.NoError(t, a.Run(toA)) })
	writers.Go(func() { require.NoError(t, b.Run(toB)) })
	writers.Wait()
}

func TestOutputKeepsArrivalOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := ordered()
		var want strings.Builder
		var at [2]uint64
		for i := range 500 {
			in, n := a, &at[0]
			if i%3 != 0 {
				in, n = b, &at[1]
			}
			piece := fmt.Sprintln(i)
			want.WriteString(piece)
			require.NoError(t, in.Put(*n, []byte(piece)))
			*n += uint64(len(piece))
		}
		require.NoError(t, a.End(at[0]))
		require.NoError(t, b.End(at[1]))
		var all screen
		began := time.Now()
		written(t, a, b, &all, &all)
		require.Equal(t, want.String(), all.text.String())
		require.Zero(t, time.Since(began), "no stream waits for a timeout")
	})
}

// stuck is a writer that blocks until free is closed.
type stuck struct {
	free chan struct{}
	to   io.Writer
}

func (s stuck) Write(p []byte) (int, error) {
	<-s.free
	return s.to.Write(p)
}

func TestOrderDoesNotWaitForAStalledReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := ordered()
		var slow, quick screen
		door := stuck{make(chan struct{}), &slow}
		var writers sync.WaitGroup
		writers.Go(func() { require.NoError(t, a.Run(door)) })
		writers.Go(func() { require.NoError(t, b.Run(&quick)) })
		began := time.Now()
		for i := range uint64(20) {
			require.NoError(t, a.Put(i, []byte("a")))
			require.NoError(t, b.Put(i, []byte("b")))
		}
		for b.Written() < 20 {
			time.Sleep(time.Millisecond)
		}
		require.LessOrEqual(t, time.Since(began), longestBehind+time.Millisecond, "the stream waits for the stalled reader only once")
		close(door.free)
		require.NoError(t, a.End(20))
		require.NoError(t, b.End(20))
		writers.Wait()
		require.Equal(t, strings.Repeat("a", 20), slow.text.String())
		require.Equal(t, strings.Repeat("b", 20), quick.text.String())
	})
}

// broken is a writer that always fails.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no reader") }

func TestOrderContinuesWithoutAFailedReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := ordered()
		require.NoError(t, a.Put(0, []byte("a")))
		require.NoError(t, b.Put(0, []byte("b")))
		require.NoError(t, b.End(1))
		began := time.Now()
		var left screen
		var writers sync.WaitGroup
		writers.Go(func() { require.Error(t, a.Run(broken{})) })
		writers.Go(func() { require.NoError(t, b.Run(&left)) })
		writers.Wait()
		require.Equal(t, "b", left.text.String())
		require.Zero(t, time.Since(began))
	})
}
