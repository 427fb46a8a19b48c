//go:build linux

package launch

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/agent/metrics"
	"github.com/musterhq/muster/agent/progress"
)

// progressWatch applies the rules for output lines to one attempt. A nil one,
// without rules, does nothing.
type progressWatch struct {
	rules *progress.Watch
	news  chan struct{} // has one when a rule has something to tell before it is due
	timer *time.Timer
	set   time.Time // when the timer is due

	born   time.Time
	mu     sync.Mutex
	places []*atomic.Int64 // when each write of output that has not returned began, in nanoseconds from born; 0: none
	unsure bool            // it was said that nothing can be judged
}

// unreadAfter is how long a write of output may take until we take it for one that
// nobody reads: rules are not judged by what cannot arrive.
const unreadAfter = time.Second

// lateBy is how late a timer must be until we take it that the launcher itself was
// stopped, and output has yet to be read.
const lateBy = 2 * time.Second

// watchProgress is the watch over an attempt with these ranks, 0 where they are not
// known; nil without rules. The rules are valid.
func (r *runner) watchProgress(ranks int) *progressWatch {
	rules, err := progress.Read(r.cfg.Progress)
	if err != nil || len(rules) == 0 {
		return nil
	}
	set, err := progress.Compile(rules)
	if err != nil {
		return nil
	}
	now := time.Now()
	w := &progressWatch{rules: set.Begin(now, ranks), news: make(chan struct{}, 1), timer: time.NewTimer(time.Hour), born: now}
	w.timer.Stop()
	return w
}

// begin starts the clocks of all rules; end stops the timer.
func (w *progressWatch) begin() {
	if w != nil {
		w.rules.Reset(time.Now())
		w.arm()
	}
}

func (w *progressWatch) end() {
	if w != nil {
		w.timer.Stop()
	}
}

// again restarts the clocks of all rules, as after a change of the workers.
func (w *progressWatch) again() {
	if w != nil {
		w.rules.Reset(time.Now())
		w.poke() // for the supervisor, whose timer it is
	}
}

// ended tells that a rank has ended.
func (w *progressWatch) ended(rank int) {
	if w != nil {
		w.rules.Ended(rank)
	}
}

// arm sets the timer to the next moment at which a rule may fire.
func (w *progressWatch) arm() {
	w.timer.Stop()
	if at, ok := w.rules.Due(); ok {
		w.set = at
		w.timer.Reset(max(time.Until(at), 0))
	}
}

// due is when the rules are to be looked at; told is that they have news.
func (w *progressWatch) due() <-chan time.Time {
	if w == nil {
		return nil
	}
	return w.timer.C
}

func (w *progressWatch) told() <-chan struct{} {
	if w == nil {
		return nil
	}
	return w.news
}

func (w *progressWatch) poke() {
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// unread reports whether output waits because nobody reads ours.
func (w *progressWatch) unread(now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, began := range w.places {
		if at := began.Load(); at != 0 && now.Sub(w.born)-time.Duration(at) > unreadAfter {
			return true
		}
	}
	return false
}

// hear gives a writer for one stream of a process with this rank, which hands
// everything on to w; nil: it is not shown. The writer also closes it.
func (w *progressWatch) hear(rank int, to io.WriteCloser) io.WriteCloser {
	if w == nil {
		return to
	}
	f := followed{seen: w.rules.Writer(rank, w.poke)}
	if to != nil {
		f.to, f.end = w.timed(to), to.Close
	}
	return f
}

// mixed gives a writer that looks at a stream of a command that runs here.
func (w *progressWatch) mixed(tags metrics.Tags) io.WriteCloser {
	if w == nil {
		return console.Nowhere()
	}
	return w.rules.Mixed(func(line []byte) (int, []byte) {
		if rank, text, ok := tags.Split(line); ok {
			return rank, text
		}
		return progress.NoRank, line
	}, w.poke)
}

// timed is to, with a note of how long its writes take.
func (w *progressWatch) timed(to io.Writer) io.Writer {
	if w == nil {
		return to
	}
	t := timed{to: to, born: w.born, began: &atomic.Int64{}}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.places = append(w.places, t.began)
	return t
}

type timed struct {
	to    io.Writer
	born  time.Time
	began *atomic.Int64
}

func (t timed) Write(p []byte) (int, error) {
	t.began.Store(int64(time.Since(t.born)) + 1) // 0 is none
	defer t.began.Store(0)
	return t.to.Write(p)
}

// followed is a stream whose lines the rules see.
type followed struct {
	seen *progress.Writer
	to   io.Writer    // nil: it is not shown
	end  func() error // closes it
}

func (f followed) Write(p []byte) (int, error) {
	_, _ = f.seen.Write(p) // it never fails
	if f.to == nil {
		return len(p), nil
	}
	return f.to.Write(p)
}

func (f followed) Close() error {
	err := f.seen.Close()
	if f.end != nil {
		err = errors.Join(err, f.end())
	}
	return err
}
