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

// Tee stands between a command and our standard output, to look at what passes.
type Tee struct {
	From  *os.File
	to    io.Writer
	seen  io.WriteCloser
	Name  string // of the stream, for people
	Brief bool   // only words are looked for, which a slow reader of ours may withhold

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
	// wordsWait is the same where only words are looked for: they change a sentence.
	wordsWait = time.Second
	// drainMost is a pipe's largest buffer; more comes from somebody who still writes.
	drainMost = 1 << 20
)

// NewTee gives a tee and the file that the command is to have as its standard
// output; close it when the command has it.
func NewTee(to io.Writer, seen io.WriteCloser, lost func(error)) (*Tee, *os.File, error) {
	from, in, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("make pipe: %w", err)
	}
	return &Tee{From: from, to: to, seen: seen, lost: lost, drained: make(chan struct{}), done: make(chan struct{})}, in, nil
}

// Copy hands on what comes until nobody can write any more.
func (t *Tee) Copy() {
	defer close(t.done)
	defer t.From.Close() // a command that goes on writing gets SIGPIPE, as from a reader that went away
	defer t.seen.Close()
	buf := make([]byte, 64<<10)
	quiet, left := false, drainMost
	for left > 0 {
		// Before the read: one that an earlier deadline ends has not seen what came
		// after it.
		last := t.last.Load()
		if t.draining.Load() {
			// Set anew each time: the last one may have passed while we wrote.
			_ = t.From.SetReadDeadline(time.Now().Add(drainQuiet)) // pipes have deadlines
		}
		n, err := t.From.Read(buf)
		if n > 0 {
			_, _ = t.seen.Write(buf[:n]) // it never fails
			if _, err := t.to.Write(buf[:n]); err != nil {
				if !t.Brief || !errors.Is(err, syscall.EPIPE) { // the command meets a closed pipe, as without us
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

// drain waits until the output of a command that has ended is through.
func (t *Tee) drain(v *Voice) {
	t.draining.Store(true)
	_ = t.From.SetReadDeadline(time.Now().Add(drainQuiet)) // wakes a Read; os.ErrClosed: it is done
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
		v.Warn("nobody reads our %s: what is collected from it may lack the end", t.Name)
	}
}

// finish lets copy end when the pipe is empty, whoever may still have it open.
// It is for when nothing that the command started is left.
func (t *Tee) finish() {
	t.last.Store(true)
	t.draining.Store(true)
	_ = t.From.SetReadDeadline(time.Now().Add(drainQuiet)) // os.ErrClosed: it has ended
}

// Tees are those of the command's streams that pass through us.
type Tees []*Tee

// Drain waits until the output of a command that has ended is through all of them.
func (all Tees) Drain(v *Voice) {
	for _, t := range all {
		t.drain(v)
	}
}

// Finish lets them end when their pipes are empty.
func (all Tees) Finish() {
	for _, t := range all {
		t.finish()
	}
}

// Lookers write to writers that never fail.
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
