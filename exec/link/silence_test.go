package link_test

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/wire"
)

// slow is a worker that answers each PING after a pause, over a connection that can be full for a while.
type slow struct {
	full   func(since time.Duration) time.Duration // how long a write waits that begins so long after WELCOME; nil: not
	answer time.Duration                           // negative: never
	report bool                                    // it sends a report after WELCOME

	served sync.WaitGroup
	mu     sync.Mutex
	dials  int
}

// Dial implements link.Dialer.
func (w *slow) Dial(context.Context) (io.ReadWriteCloser, error) {
	near, far := net.Pipe()
	w.mu.Lock()
	w.dials++
	w.mu.Unlock()
	w.served.Go(func() { w.serve(far) })
	return &filling{Conn: near, full: w.full, born: time.Now(), closed: make(chan struct{})}, nil
}

func (w *slow) dialed() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dials
}

func (w *slow) serve(far net.Conn) {
	defer far.Close()
	frames := make(chan wire.Frame, 100)
	var writer sync.WaitGroup
	defer writer.Wait()
	defer close(frames)
	writer.Go(func() {
		for f := range frames {
			b, _ := wire.Append(nil, f) // the frame is small and valid
			if _, err := far.Write(b); err != nil {
				return
			}
		}
	})
	reader := wire.NewReader(far)
	for f, err := reader.Next(); err == nil; f, err = reader.Next() {
		switch {
		case f.Type == wire.Hello:
			frames <- answers(f)[0]
			if w.report {
				rec, _ := wire.Record(wire.Report, 0, wire.ReportRecord{Seq: 1})
				frames <- rec
			}
		case f.Type == wire.Ping && w.answer >= 0:
			time.Sleep(w.answer)
			frames <- wire.Frame{Type: wire.Pong, Offset: f.Offset}
		}
	}
}

// filling is a connection whose writes may wait.
type filling struct {
	net.Conn
	full   func(time.Duration) time.Duration
	born   time.Time
	closed chan struct{}
	once   sync.Once
}

func (f *filling) Write(p []byte) (int, error) {
	if f.full != nil {
		if d := f.full(time.Since(f.born)); d > 0 { // see due in agent/group
			select {
			case <-time.After(d):
			case <-f.closed:
			}
		}
	}
	return f.Conn.Write(p)
}

func (f *filling) Close() error {
	f.once.Do(func() { close(f.closed) })
	return f.Conn.Close()
}

// TestSilence checks that a connection ends for silence only if its worker had time to answer a PING
// that was written, and if the launcher has looked for the answer.
func TestSilence(t *testing.T) {
	fullAt5 := func(wait time.Duration) func(time.Duration) time.Duration {
		return func(since time.Duration) time.Duration {
			if since < 5*time.Second {
				return 0
			}
			return max(0, 5*time.Second+wait-since)
		}
	}
	for name, c := range map[string]struct {
		worker *slow
		busy   time.Duration // how long the launcher handles a report
		ends   time.Duration // 0: the connection stays
	}{
		"a worker that answers":                        {&slow{}, 0, 0},
		"a worker that answers late":                   {&slow{answer: 6 * time.Second}, 0, 0},
		"a worker that does not answer":                {&slow{answer: -1}, 0, 12 * time.Second},
		"a launcher that is busy":                      {&slow{report: true}, time.Minute, 0},
		"a launcher that is busy, and a silent worker": {&slow{report: true, answer: -1}, 20 * time.Second, 32 * time.Second},
		"a connection that is full for a while":        {&slow{full: fullAt5(10 * time.Second), answer: time.Second}, 0, 0},
		"a connection that stays full":                 {&slow{full: fullAt5(time.Hour)}, 0, 17 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := c.worker
				l := link.New(link.Config{Worker: "w-0", Dialer: w, OnReport: func(wire.ReportRecord) { time.Sleep(c.busy) }})
				ctx, cancel := context.WithCancel(t.Context())
				ran := make(chan error, 1)
				began := time.Now()
				go func() { ran <- l.Run(ctx) }()
				synctest.Wait()
				for w.dialed() == 1 && time.Since(began) < 5*time.Minute {
					time.Sleep(10 * time.Millisecond)
				}
				took := time.Since(began)
				if c.ends == 0 {
					require.Equal(t, 5*time.Minute, took)
				} else {
					require.InDelta(t, c.ends.Seconds(), took.Seconds(), 1.1)
				}
				cancel()
				require.NoError(t, <-ran)
				w.served.Wait()
			})
		})
	}
}

// TestAsked checks since when a worker owes an answer. A link that was cut and waits for its turn to be
// dialed has not asked its worker.
func TestAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns, w := link.NewTurns(1), &slow{}
		var first net.Conn
		l := link.New(link.Config{Worker: "w-0", Turns: turns, Dialer: dialFunc(func(ctx context.Context) (io.ReadWriteCloser, error) {
			if first != nil {
				<-ctx.Done()
				return nil, context.Cause(ctx)
			}
			c, err := w.Dial(ctx)
			first = c.(net.Conn)
			return c, err
		})})
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- l.Run(ctx) }()
		synctest.Wait()
		require.True(t, l.State().Connected)
		require.Zero(t, l.State().Asked)

		turns <- struct{}{} // another link is dialed
		first.Close()
		time.Sleep(time.Minute)
		require.False(t, l.State().Connected)
		require.Zero(t, l.State().Asked)
		<-turns
		began := time.Now()
		time.Sleep(time.Minute)
		require.Equal(t, began, l.State().Asked, "dials that fail bring no answer")
		cancel()
		require.NoError(t, <-ran)
		w.served.Wait()
	})
}

// TestSilentWorkerWasAsked checks that a connection that ends for silence leaves an answer owed since its PING.
func TestSilentWorkerWasAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slow{answer: -1}
		turns := link.NewTurns(1)
		l := link.New(link.Config{Worker: "w-0", Turns: turns, Dialer: w})
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		began := time.Now()
		go func() { ran <- l.Run(ctx) }()
		synctest.Wait()
		turns <- struct{}{} // another link is dialed
		time.Sleep(13 * time.Second)
		require.False(t, l.State().Connected)
		require.Equal(t, began.Add(5*time.Second), l.State().Asked)
		cancel()
		require.NoError(t, <-ran)
		w.served.Wait()
	})
}
