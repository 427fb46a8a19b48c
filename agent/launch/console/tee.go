//go:build linux

package console

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// Tee passes a command's output on to our standard output and inspects it.
type Tee struct {
	From  *os.File
	to    io.Writer
	seen  io.WriteCloser
	Name  string // of the stream, for messages
	Brief bool   // only mpirun's words are read, which a slow reader of ours may hold back

	draining atomic.Bool // the command has ended: detect when the pipe is empty
	last     atomic.Bool // what the command left behind has ended too: stop then
	drained  chan struct{}
	done     chan struct{}
	lost     func(error) // called with a write error, which ends Copy
}

const (
	// drainQuiet is how long no byte may arrive before the output of an ended command counts as
	// complete.
	drainQuiet = 100 * time.Millisecond
	// drainWait is how long our own reader may take for the rest of it.
	drainWait = 10 * time.Second
	// wordsWait is drainWait for a brief Tee: mpirun's words only change a message.
	wordsWait = time.Second
	// drainMost is the largest buffer of a pipe, in bytes. Further output comes from a process that
	// is still writing.
	drainMost = 1 << 20
)

// NewTee returns a tee, and the file that becomes the command's standard output. The caller closes
// the file after the command has started. lost is called with a write error.
func NewTee(to io.Writer, seen io.WriteCloser, lost func(error)) (*Tee, *os.File, error) {
	from, in, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("make pipe: %w", err)
	}
	return &Tee{From: from, to: to, seen: seen, lost: lost, drained: make(chan struct{}), done: make(chan struct{})}, in, nil
}

// Copy passes output on until no process can write any more.
func (t *Tee) Copy() {
	defer close(t.done)
	defer t.From.Close() // a command that continues to write gets SIGPIPE, as from a reader that closed
	defer t.seen.Close()
	buf := make([]byte, 64<<10)
	quiet, left := false, drainMost
	for left > 0 {
		// Load before reading: a read cut short by an old deadline must not count later bytes.
		last := t.last.Load()
		if t.draining.Load() {
			// Set it each time: the last deadline may have passed during a write.
			_ = t.From.SetReadDeadline(time.Now().Add(drainQuiet)) // pipes support deadlines
		}
		n, err := t.From.Read(buf)
		if n > 0 {
			_, _ = t.seen.Write(buf[:n]) // it never fails
			if _, err := t.to.Write(buf[:n]); err != nil {
				if !t.Brief || !errors.Is(err, syscall.EPIPE) { // the command sees a closed pipe, as without a Tee
					t.lost(err)
				}
				return
			}
		}
		if last {
			left -= n
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			if !quiet {
				quiet = true
				close(t.drained)
			}
			if last {
				return
			}
		case err != nil:
			return
		}
	}
}

// drain waits until the output of a command that has ended has passed through.
func (t *Tee) drain(v *Voice) {
	t.draining.Store(true)
	_ = t.From.SetReadDeadline(time.Now().Add(drainQuiet)) // wakes a Read; os.ErrClosed: Copy has returned
	wait := drainWait
	if t.Brief {
		wait = wordsWait
	}
	select {
	case <-t.drained:
	case <-t.done:
	case <-time.After(wait):
		if t.Brief {
			return
		}
		v.Warn("%s is not read: the end of the collected output may be missing", t.Name)
	}
}

// finish makes Copy return when the pipe is empty, even if a process still has it open. Call it
// when nothing that the command started is left.
func (t *Tee) finish() {
	t.last.Store(true)
	t.draining.Store(true)
	_ = t.From.SetReadDeadline(time.Now().Add(drainQuiet)) // os.ErrClosed: Copy has returned
}

// Tees are the streams of the command that pass through the launcher.
type Tees []*Tee

// Drain waits until the output of a command that has ended has passed through all of them.
func (all Tees) Drain(v *Voice) {
	for _, t := range all {
		t.drain(v)
	}
}

// Finish makes them return when their pipes are empty.
func (all Tees) Finish() {
	for _, t := range all {
		t.finish()
	}
}

// Lookers writes to several writers that never fail.
type Lookers []io.WriteCloser

// Write implements io.Writer.
func (all Lookers) Write(p []byte) (int, error) {
	for _, one := range all {
		_, _ = one.Write(p)
	}
	return len(p), nil
}

// Close implements io.Closer.
func (all Lookers) Close() (err error) {
	for _, one := range all {
		err = errors.Join(err, one.Close())
	}
	return err
}
