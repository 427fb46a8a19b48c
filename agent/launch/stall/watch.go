//go:build linux

package stall

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

// Watch applies the rules for output lines to one attempt. A nil one,
// without rules, does nothing.
type Watch struct {
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

// New returns the watch over an attempt with these ranks, 0 where they are not known; nil
// without rules. The words are valid.
func New(words []progress.Word, ranks int) *Watch {
	rules, err := progress.Read(words)
	if err != nil || len(rules) == 0 {
		return nil
	}
	set, err := progress.Compile(rules)
	if err != nil {
		return nil
	}
	now := time.Now()
	w := &Watch{rules: set.Begin(now, ranks), news: make(chan struct{}, 1), timer: time.NewTimer(time.Hour), born: now}
	w.timer.Stop()
	return w
}

// Begin starts the clocks of all rules.
func (w *Watch) Begin() {
	if w != nil {
		w.rules.Reset(time.Now())
		w.arm()
	}
}

// End stops the timer.
func (w *Watch) End() {
	if w != nil {
		w.timer.Stop()
	}
}

// Again restarts the clocks of all rules, as after a change of the workers.
func (w *Watch) Again() {
	if w != nil {
		w.rules.Reset(time.Now())
		w.poke() // for the supervisor, whose timer it is
	}
}

// Ended tells that a rank has ended.
func (w *Watch) Ended(rank int) {
	if w != nil {
		w.rules.Ended(rank)
	}
}

// arm sets the timer to the next moment at which a rule may fire.
func (w *Watch) arm() {
	w.timer.Stop()
	if at, ok := w.rules.Due(); ok {
		w.set = at
		w.timer.Reset(max(time.Until(at), 0))
	}
}

// Due is when the rules are to be looked at.
func (w *Watch) Due() <-chan time.Time {
	if w == nil {
		return nil
	}
	return w.timer.C
}

// Told has one when the rules have news.
func (w *Watch) Told() <-chan struct{} {
	if w == nil {
		return nil
	}
	return w.news
}

func (w *Watch) poke() {
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// Look returns what is new about the rules.
func (w *Watch) Look(now time.Time) []progress.Verdict {
	defer w.arm()
	return w.rules.Look(now)
}

// Excuse restarts the clocks because lines may not have arrived. first reports whether this is
// the first time.
func (w *Watch) Excuse(now time.Time) (first bool) {
	w.rules.Excuse(now)
	first, w.unsure = !w.unsure, true
	w.arm()
	return first
}

// Late reports whether the launcher itself was stopped when the rules were due.
func (w *Watch) Late(now time.Time) bool { return now.Sub(w.set) > lateBy }

// Unread reports whether output waits because nobody reads ours.
func (w *Watch) Unread(now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, began := range w.places {
		if at := began.Load(); at != 0 && now.Sub(w.born)-time.Duration(at) > unreadAfter {
			return true
		}
	}
	return false
}

// Hear gives a writer for one stream of a process with this rank, which hands
// everything on to w; nil: it is not shown. The writer also closes it.
func (w *Watch) Hear(rank int, to io.WriteCloser) io.WriteCloser {
	if w == nil {
		return to
	}
	f := followed{seen: w.rules.Writer(rank, w.poke)}
	if to != nil {
		f.to, f.end = w.Timed(to), to.Close
	}
	return f
}

// Mixed gives a writer that looks at a stream of a command that runs here.
func (w *Watch) Mixed(tags metrics.Tags) io.WriteCloser {
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

// Timed is to, with a note of how long its writes take.
func (w *Watch) Timed(to io.Writer) io.Writer {
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
