//go:build linux

package launch

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// tee stands between a command and our standard output, to look at what passes.
type tee struct {
	from *os.File
	to   io.Writer
	seen io.WriteCloser

	draining atomic.Bool // the command has ended: notice when the pipe is empty
	last     atomic.Bool // so has what it left behind: end then
	drained  chan struct{}
	done     chan struct{}
	err      error // of writing; read after done
}

const (
	// drainQuiet without a byte means that an ended command's output is through.
	drainQuiet = 100 * time.Millisecond
	// drainWait is how long our own reader may take for the rest of it.
	drainWait = 10 * time.Second
	// drainMost is a pipe's largest buffer; more comes from somebody who still writes.
	drainMost = 1 << 20
)

// newTee gives a tee and the file that the command is to have as its standard
// output; close it when the command has it.
func newTee(to io.Writer, seen io.WriteCloser) (*tee, *os.File, error) {
	from, in, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("make pipe: %w", err)
	}
	return &tee{from: from, to: to, seen: seen, drained: make(chan struct{}), done: make(chan struct{})}, in, nil
}

// copy hands on what comes until nobody can write any more.
func (t *tee) copy() {
	defer close(t.done)
	defer t.from.Close() // a command that goes on writing gets SIGPIPE, as from a reader that went away
	defer t.seen.Close()
	buf := make([]byte, 64<<10)
	quiet, left := false, drainMost
	for left > 0 {
		// Before the read: one that an earlier deadline ends has not seen what came
		// after it.
		last := t.last.Load()
		if t.draining.Load() {
			// Set anew each time: the last one may have passed while we wrote.
			_ = t.from.SetReadDeadline(time.Now().Add(drainQuiet)) // pipes have deadlines
		}
		n, err := t.from.Read(buf)
		if n > 0 {
			_, _ = t.seen.Write(buf[:n]) // it never fails
			if _, t.err = t.to.Write(buf[:n]); t.err != nil {
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

// drain waits until the output of a command that has ended is through.
func (t *tee) drain(v *voice) {
	if t == nil {
		return
	}
	t.draining.Store(true)
	_ = t.from.SetReadDeadline(time.Now().Add(drainQuiet)) // wakes a Read; os.ErrClosed: it is done
	select {
	case <-t.drained:
	case <-t.done:
	case <-time.After(drainWait):
		v.Warn("nobody reads our standard output: metrics may lack the end of it")
		return
	}
	select {
	case <-t.done:
		if t.err != nil && !errors.Is(t.err, syscall.EPIPE) {
			v.Warn("hand on the command's output: %v", t.err)
		}
	default: // something that the command left behind may still write
	}
}

// finish lets copy end when the pipe is empty, whoever may still have it open.
func (t *tee) finish() {
	t.last.Store(true)
	t.draining.Store(true)
	_ = t.from.SetReadDeadline(time.Now().Add(drainQuiet)) // os.ErrClosed: it has ended
}

// start runs begin with streams whose standard output is looked at. The copying
// belongs to r.wg and goes on until r.meter.finish.
func (m *meter) start(r *runner, begin func(Streams) (*command, error)) (*command, error) {
	if m == nil {
		return begin(r.streams)
	}
	t, in, err := newTee(r.streams.Out, m.seen.Mixed(m.tags))
	if err != nil {
		return nil, err
	}
	streams := r.streams
	streams.Out = in
	cmd, err := begin(streams)
	_ = in.Close() // a pipe's cannot fail
	if err != nil {
		_ = t.from.Close()
		return nil, err
	}
	m.tee = t
	r.wg.Go(t.copy)
	return cmd, nil
}

// finish is for when nothing that the command started is left.
func (m *meter) finish() {
	if m != nil && m.tee != nil {
		m.tee.finish()
	}
}
