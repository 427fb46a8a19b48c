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

	"github.com/musterhq/muster/agent/metrics"
)

// tee stands between a command and our standard output, to look at what passes.
type tee struct {
	from  *os.File
	to    io.Writer
	seen  io.WriteCloser
	name  string // of the stream, for people
	brief bool   // only words are looked for, which a slow reader of ours may withhold

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
				if !t.brief || !errors.Is(err, syscall.EPIPE) { // the command meets a closed pipe, as without us
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
func (t *tee) drain(v *voice) {
	t.draining.Store(true)
	_ = t.from.SetReadDeadline(time.Now().Add(drainQuiet)) // wakes a Read; os.ErrClosed: it is done
	wait := drainWait
	if t.brief {
		wait = wordsWait
	}
	select {
	case <-t.drained:
	case <-t.done:
	case <-time.After(wait):
		if t.brief {
			return
		}
		v.Warn("nobody reads our %s: what is collected from it may lack the end", t.name)
	}
}

// finish lets copy end when the pipe is empty, whoever may still have it open.
// It is for when nothing that the command started is left.
func (t *tee) finish() {
	t.last.Store(true)
	t.draining.Store(true)
	_ = t.from.SetReadDeadline(time.Now().Add(drainQuiet)) // os.ErrClosed: it has ended
}

// tees are those of the command's streams that pass through us.
type tees []*tee

func (all tees) drain(v *voice) {
	for _, t := range all {
		t.drain(v)
	}
}

func (all tees) finish() {
	for _, t := range all {
		t.finish()
	}
}

// lookers write to writers that never fail.
type lookers []io.WriteCloser

func (all lookers) Write(p []byte) (int, error) {
	for _, one := range all {
		_, _ = one.Write(p)
	}
	return len(p), nil
}

func (all lookers) Close() (err error) {
	for _, one := range all {
		err = errors.Join(err, one.Close())
	}
	return err
}

// teed runs begin with streams that pass through a tee, where somebody looks at
// them, or where the command's own writes would fail unseen. Progress rules look at
// standard error, too: loggers and progress bars write there. So does w, at streams that are
// pipes or files. The copying belongs to r.wg and goes on until r.tees.finish.
func (r *runner) teed(p *progressWatch, w *words, begin func(Streams) (*command, error)) (cmd *command, err error) {
	streams := r.streams
	var made tees
	var ins []*os.File
	pass := func(name string, to **os.File, seen io.WriteCloser) error {
		place := *to
		t, in, err := newTee(p.timed(place), seen, func(err error) { r.outputLost(called(placeName(name, place), err)) })
		if err == nil {
			t.name, t.brief = name, p == nil && (r.meter == nil || name == standardError)
			made, ins, *to = append(made, t), append(ins, in), in
		}
		return err
	}
	heard := w.hears(r.streams.Out)
	if heard || r.meter != nil || p != nil || isOddDevice(r.streams.Out) {
		err = pass(standardOutput, &streams.Out, lookers{r.meter.mixed(), p.mixed(r.tags()), w.reader(heard)})
	}
	heard = w.hears(r.streams.Err)
	switch {
	case err != nil:
	case heard && r.meter == nil && p == nil && isOnePlace(r.streams.Out, r.streams.Err):
		streams.Err = streams.Out // one pipe keeps the order
	case heard || p != nil:
		err = pass(standardError, &streams.Err, lookers{p.mixed(r.tags()), w.reader(heard)})
	}
	if err == nil {
		cmd, err = begin(streams)
	}
	for _, in := range ins {
		_ = in.Close() // a pipe's cannot fail
	}
	r.tees = made
	for _, t := range made {
		if err != nil {
			_ = t.from.Close()
			continue
		}
		r.wg.Go(t.copy)
	}
	if err != nil {
		r.tees = nil
	}
	return cmd, err
}

// tags are the marks of ranks in the output of a command that runs here.
func (r *runner) tags() metrics.Tags {
	if r.cfg.Output == "tag" && IsMPIRun(r.cfg.Command[0]) {
		return metrics.TagsAll // each line has its rank: mpirun is asked for that
	}
	return metrics.TagsSure
}
