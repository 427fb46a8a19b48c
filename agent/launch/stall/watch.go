//go:build linux

package stall

import (
	"cmp"
	"errors"
	"io"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/agent/metrics"
	"github.com/musterhq/muster/agent/progress"
	"github.com/musterhq/muster/agent/straggler"
)

// Watch applies the rules for output lines to one attempt. A nil Watch, for no rules, does nothing.
type Watch struct {
	rules *progress.Watch
	steps *straggler.Meter // of each rank; nil: no rule can measure steps
	named bool             // stragglers are wanted
	news  chan struct{}    // has a token if a rule has news before it is due
	timer *time.Timer
	set   time.Time // when the timer is due

	born   time.Time
	mu     sync.Mutex
	places []*atomic.Int64 // start of each write of output in progress, in nanoseconds since born; 0: none
	unsure bool            // the user was already told that the rules cannot be judged
}

// unreadAfter is how long a write of output may take before we assume that nothing reads our
// output. The rules are not judged while lines cannot arrive.
const unreadAfter = time.Second

// lateBy is how late the timer must fire before we assume that the launcher itself was stopped, so
// that output is still unread.
const lateBy = 2 * time.Second

// New returns the watch over an attempt with this number of ranks; 0 means unknown. It returns nil
// if there are no rules. words must be valid. slowFor is how long a rank must be slower than the
// others until it is a straggler; 0: none ever is.
func New(words []progress.Word, ranks int, slowFor time.Duration) *Watch {
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
	steps := straggler.New(cmp.Or(slowFor, straggler.Usual), now)
	if w.rules.Steps(steps.Every(), steps.Add) {
		w.steps, w.named = steps, slowFor > 0
	}
	return w
}

// Begin starts the clocks of all rules. Lines that a quick command has printed before count.
func (w *Watch) Begin() {
	if w != nil {
		now := time.Now()
		w.rules.Excuse(now)
		w.resetSteps(now)
		w.arm()
	}
}

// End stops the timer.
func (w *Watch) End() {
	if w != nil {
		w.timer.Stop()
	}
}

// Again restarts the clocks of all rules, for example after the workers change.
func (w *Watch) Again() {
	if w != nil {
		now := time.Now()
		w.rules.Reset(now)
		w.resetSteps(now)
		w.poke() // wakes the supervisor, which owns the timer
	}
}

func (w *Watch) resetSteps(now time.Time) {
	if w.steps != nil {
		w.steps.Reset(now)
	}
}

// Peak returns the largest numbers that a rule has captured in this attempt. It returns false if no
// rule captures numbers.
func (w *Watch) Peak() (progress.Peak, bool) {
	if w == nil {
		return progress.Peak{}, false
	}
	return w.rules.Peak()
}

// Far returns how far the attempt is. It returns false if that is unknown.
func (w *Watch) Far(now time.Time) (progress.Far, bool) {
	if w == nil {
		return progress.Far{}, false
	}
	return w.rules.Far(now)
}

// Sample adds the numbers that rules have captured in this attempt to a sample.
func (w *Watch) Sample(s *event.Sample) {
	if w == nil {
		return
	}
	for _, peak := range w.rules.Peaks() {
		for group, value := range peak.Numbers {
			if !math.IsNaN(value) && !math.IsInf(value, 0) { // a group may have captured other text
				s.Progress = append(s.Progress, event.Number{Rule: peak.Rule.Name(), Group: group + 1, Value: value})
			}
		}
	}
}

// Ended records that a rank has ended. alone means that the run goes on without it.
func (w *Watch) Ended(rank int, alone bool) {
	if w != nil {
		if w.rules.Ended(rank, alone) {
			w.poke()
		}
		if w.steps != nil {
			w.steps.Ended(rank)
		}
	}
}

// Steps returns the step time of each rank, if a rule measures them.
func (w *Watch) Steps() map[int]straggler.Step {
	if w == nil || w.steps == nil {
		return nil
	}
	return w.steps.Steps()
}

// Stragglers returns the ranks that have become stragglers, or have recovered.
func (w *Watch) Stragglers(now time.Time) []straggler.Change {
	if w == nil || !w.named {
		return nil
	}
	return w.steps.Look(now)
}

// arm sets the timer to the next time at which a rule may fire.
func (w *Watch) arm() {
	w.timer.Stop()
	at, ok := w.rules.Due()
	w.set = at
	if ok {
		w.timer.Reset(max(time.Until(at), 0))
	}
}

// Due returns the timer's channel, which fires when the rules have to be checked.
func (w *Watch) Due() <-chan time.Time {
	if w == nil {
		return nil
	}
	return w.timer.C
}

// Told returns a channel with a token when the rules have news.
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

// Look returns the new verdicts of the rules.
func (w *Watch) Look(now time.Time) []progress.Verdict {
	defer w.arm()
	return w.rules.Look(now)
}

// Overdue returns the ranks that are about to break a rule.
func (w *Watch) Overdue(now time.Time) []int {
	if w == nil {
		return nil
	}
	return w.rules.Overdue(now)
}

// Excuse restarts the clocks because lines may not have arrived. first reports whether this is the
// first time.
func (w *Watch) Excuse(now time.Time) (first bool) {
	w.rules.Excuse(now)
	first, w.unsure = !w.unsure, true
	w.arm()
	return first
}

// Late reports whether the launcher itself was stopped when the rules were due.
func (w *Watch) Late(now time.Time) bool { return !w.set.IsZero() && now.Sub(w.set) > lateBy }

// Unread reports whether output is blocked because nothing reads ours.
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

// Hear returns a writer for one stream of a process with this rank. The rules see every line, and
// the writer passes everything on to the given one and closes it. nil means that the stream is not
// shown.
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

// Mixed returns a writer that passes a stream of a command in the launcher to the rules.
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

// Timed returns a writer to the given one that records how long its writes take.
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
	t.began.Store(int64(time.Since(t.born)) + 1) // 0 means none
	defer t.began.Store(0)
	return t.to.Write(p)
}

// followed is a stream whose lines the rules see.
type followed struct {
	seen *progress.Writer
	to   io.Writer    // nil: it is not shown
	end  func() error // closes to
}

func (f followed) Write(p []byte) (int, error) {
	_, _ = f.seen.Write(p) // it never fails
	if f.to == nil {
		return len(p), nil
	}
	return f.to.Write(p)
}

// Close implements io.Closer.
func (f followed) Close() error {
	err := f.seen.Close()
	if f.end != nil {
		err = errors.Join(err, f.end())
	}
	return err
}
