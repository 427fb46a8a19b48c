//go:build linux

package launch

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
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
	lost     func(error) // called with the error of a write, which ends copy
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
func newTee(to io.Writer, seen io.WriteCloser, lost func(error)) (*tee, *os.File, error) {
	from, in, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("make pipe: %w", err)
	}
	return &tee{from: from, to: to, seen: seen, lost: lost, drained: make(chan struct{}), done: make(chan struct{})}, in, nil
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
			if _, err := t.to.Write(buf[:n]); err != nil {
				t.lost(err)
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
	}
}

// finish lets copy end when the pipe is empty, whoever may still have it open.
// It is for when nothing that the command started is left.
func (t *tee) finish() {
	if t == nil {
		return
	}
	t.last.Store(true)
	t.draining.Store(true)
	_ = t.from.SetReadDeadline(time.Now().Add(drainQuiet)) // os.ErrClosed: it has ended
}

// teed runs begin with streams whose standard output passes through a tee, where
// somebody looks at it, or where the command's own writes would fail unseen. The
// copying belongs to r.wg and goes on until r.tee.finish.
func (r *runner) teed(begin func(Streams) (*command, error)) (*command, error) {
	if r.meter == nil && !isOddDevice(r.streams.Out) {
		return begin(r.streams)
	}
	t, in, err := newTee(r.streams.Out, r.meter.mixed(), func(err error) {
		r.outputLost(called(placeName(standardOutput, r.streams.Out), err))
	})
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
	r.tee = t
	r.wg.Go(t.copy)
	return cmd, nil
}
