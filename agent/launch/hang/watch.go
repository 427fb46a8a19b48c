package hang

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/musterhq/muster/agent/launch/wait"
	"github.com/musterhq/muster/exec/wire"
)

// Asker tells what the processes on one worker do.
type Asker interface {
	Ask(ctx context.Context) (wire.AnswerRecord, error)
}

// Finding is what the watch over a run has to say.
type Finding struct {
	Scenes map[string]Scene // what is seen, by worker; "" is the launcher
	// Unknown are the workers that could not be asked, and why: with some there
	// is no verdict.
	Unknown map[string]error
	Over    bool // what was reported to hang moves again
	// Polls: it is a suspicion alone, for ranks use processors. The stacks are there.
	Polls   bool
	Polling []int // which of the ranks poll
	// Stacks are where the ranks stand; nil: nobody has asked them.
	Stacks *Standing
}

// Watch looks for a run that has come to a stop without an end. It asks
// nobody while output flows, and then the one worker that was busy last: only
// when that rests all are asked, four times before the verdict.
type Watch struct {
	After   time.Duration
	workers func() map[string]Asker
	// own looks at the command in the launcher, and counts the bytes that it has
	// written; nil: there is none, and output is noted by wrote.
	own  func() (Scene, uint64, error)
	news chan Finding
	// Unstacked: stacks are not wanted.
	Unstacked bool
	// stillOnly: ranks that poll are not looked for.
	stillOnly bool
	// Wary: nobody has asked for the watch, so it tells of sure hangs alone.
	Wary bool

	born    time.Time
	printed *atomic.Int64 // when output came last, in nanoseconds from born: setting the clock is no silence
	named   *sessionNames

	stop context.CancelFunc
	wg   sync.WaitGroup

	// The watch's own goroutine's.
	still   *stillness
	busy    string  // the worker that was seen to do something last
	written uint64  // by own
	polling polling // ranks that wait by polling
	// uncounted: what own had written when the watch began is not known.
	uncounted bool
	told      bool // of this standstill
	doubted   bool // and that nothing can be said of it
}

// askTime is how long a worker may take to answer; one whose link is parked has
// to be dialled first.
const askTime = 20 * time.Second

// parts is in how many steps the time is watched.
const parts = 4

// NewWatch calls it a hang if nothing has happened for after. workers returns those that can be
// asked; it is called at each look.
func NewWatch(after time.Duration, workers func() map[string]Asker) *Watch {
	return &Watch{After: after, workers: workers, born: time.Now(), printed: &atomic.Int64{}, news: make(chan Finding), named: &sessionNames{of: map[string]string{}}}
}

// Follow is another watch over the same run, which hears of the same output.
func (w *Watch) Follow(after time.Duration) *Watch {
	f := NewWatch(after, w.workers)
	f.born, f.printed, f.Unstacked = w.born, w.printed, w.Unstacked
	f.named, f.own, f.uncounted, f.stillOnly = w.named, w.own, true, true
	return f
}

// Wrote notes that there was output. A nil watch does nothing, here and below.
func (w *Watch) Wrote() {
	if w != nil {
		w.printed.Store(int64(time.Since(w.born)) + 1) // 0: nothing yet
	}
}

// Name notes what a session runs.
func (w *Watch) Name(session, label string) {
	if w == nil {
		return
	}
	w.named.mu.Lock()
	defer w.named.mu.Unlock()
	w.named.of[session] = label
}

// LabelOf returns what Name has noted of a session; "": nothing.
func (w *Watch) LabelOf(session string) string {
	w.named.mu.Lock()
	defer w.named.mu.Unlock()
	return w.named.of[session]
}

// sessionNames are the names of processes that we started, by session.
type sessionNames struct {
	mu sync.Mutex
	of map[string]string
}

// Begin starts the watch; End ends it and waits for it.
func (w *Watch) Begin() {
	if w == nil || w.After == 0 {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	w.still = newStillness(w.After, time.Now())
	w.wg.Go(func() { w.run(ctx) })
}

// End ends the watch and waits for it. It does nothing if the watch has not begun.
func (w *Watch) End() {
	if w != nil && w.stop != nil {
		w.stop()
		w.wg.Wait()
	}
}

// Tell is where the watch's news come from; nil for none.
func (w *Watch) Tell() <-chan Finding {
	if w == nil {
		return nil
	}
	return w.news
}

func (w *Watch) run(ctx context.Context) {
	step := max(w.After/parts, time.Millisecond)
	pause := step
	for wait.Sleep(ctx, pause) {
		pause = step
		if quiet := time.Since(w.lastOutput()); w.own == nil && quiet < step {
			pause = step - quiet
			w.moved(ctx)
			w.pollsNot(ctx)
			continue
		}
		active, unknown := w.look(ctx)
		if ctx.Err() != nil {
			return
		}
		if active {
			w.moved(ctx)
			w.seekPolls(ctx)
			continue
		}
		w.pollsNot(ctx)
		w.judge(ctx, unknown)
	}
}

// lastOutput brings the account up to what was noted.
func (w *Watch) lastOutput() time.Time {
	if at := w.born.Add(time.Duration(w.printed.Load())); at.After(w.still.printed) {
		w.still.printed = at
	}
	return w.still.printed
}

// moved is for a run that does something.
func (w *Watch) moved(ctx context.Context) {
	if w.told {
		w.say(ctx, Finding{Over: true})
	}
	w.told, w.doubted = false, false
}

// judge says what there is to say when nothing was seen to move.
func (w *Watch) judge(ctx context.Context, unknown map[string]error) {
	now := time.Now()
	quiet := now.Sub(w.lastOutput()) >= w.After
	switch {
	case len(unknown) > 0:
		if quiet && !w.told && !w.doubted && !w.Wary {
			w.doubted = true
			w.say(ctx, Finding{Unknown: unknown})
		}
	case !w.told && w.still.hangs(now) && (!w.Wary || w.sure()):
		w.told = true
		h := Finding{Scenes: maps.Clone(w.still.scenes)}
		if !w.Unstacked {
			at := TakeStacks(ctx, hangStacks, wire.ProgramsBrief, w.workers(), w.LabelOf)
			h.Stacks = &at
			w.look(ctx) // telling its stack takes a rank some time: that is no work
		}
		w.say(ctx, h)
	}
}

// sure reports whether a standstill is one for a user who has not asked: there are
// ranks on workers, something was printed before, and no rank waits for time to pass
// or for clients to call, as idle services do.
func (w *Watch) sure() bool {
	ranks := 0
	for worker, s := range w.still.scenes {
		for _, a := range s.actors {
			if worker == "" || !a.rests {
				continue
			}
			ranks++
			if isIdle(a.Process) {
				return false
			}
		}
	}
	return ranks > 0 && w.printed.Load() > 0
}

// isIdle reports whether a process waits for what need not come: a timer, a client, a
// signal. Of one whose call is not shown that cannot be ruled out.
func isIdle(p wire.ProcessRecord) bool {
	if p.Call == "" && p.Waiting == "" {
		return true
	}
	for _, one := range []string{"nanosleep", "epoll", "ep_poll", "accept", "pause", "sigsuspend", "sigtimedwait", "inotify"} {
		if strings.Contains(p.Call, one) || strings.Contains(p.Waiting, one) {
			return true
		}
	}
	return false
}

func (w *Watch) say(ctx context.Context, h Finding) {
	select {
	case w.news <- h:
	case <-ctx.Done():
	}
}

// look looks at the launcher's own command, then at the worker that was busy
// last, then at all. It stops at the first that has done something.
func (w *Watch) look(ctx context.Context) (active bool, unknown map[string]error) {
	unknown = map[string]error{}
	if w.own != nil {
		scene, written, err := w.own()
		if err != nil {
			unknown["the launcher"] = err
		} else {
			if w.uncounted {
				w.uncounted, w.written = false, written
			}
			if written != w.written {
				w.written = written
				w.Wrote()
				active = true
			}
			if active = w.still.take("", scene) || active; active {
				return true, nil
			}
		}
	}
	workers := w.workers()
	w.still.keep(func(name string) bool { return name == "" || workers[name] != nil })
	if first := workers[w.busy]; first != nil {
		delete(workers, w.busy)
		if w.take(map[string]Answer{w.busy: ask(ctx, first)}, unknown) {
			return true, nil
		}
	}
	return w.take(AskAll(ctx, workers), unknown), unknown
}

// Answer is what became of a question.
type Answer struct {
	Scene Scene
	Err   error
}

// take puts answers on the account, and tells whether one shows work.
func (w *Watch) take(results map[string]Answer, unknown map[string]error) (active bool) {
	for name, r := range results {
		if r.Err != nil {
			unknown[name] = r.Err
			continue
		}
		if w.still.take(name, r.Scene) {
			active, w.busy = true, name
		}
	}
	return active
}

// askersAtOnce bounds the questions under way: parked links have to be dialled.
const askersAtOnce = 32

// AskAll asks workers, many at once.
func AskAll(ctx context.Context, workers map[string]Asker) map[string]Answer {
	var mu sync.Mutex
	all := make(map[string]Answer, len(workers))
	turn := make(chan struct{}, askersAtOnce)
	var asked sync.WaitGroup
	for name, worker := range workers {
		turn <- struct{}{}
		asked.Go(func() {
			defer func() { <-turn }()
			r := ask(ctx, worker)
			mu.Lock()
			defer mu.Unlock()
			all[name] = r
		})
	}
	asked.Wait()
	return all
}

var errNoAnswer = errors.New("no answer in time")

func ask(ctx context.Context, worker Asker) Answer {
	ctx, stop := context.WithTimeoutCause(ctx, askTime, errNoAnswer)
	defer stop()
	answer, err := worker.Ask(ctx)
	if err == nil && answer.Left > 0 {
		err = fmt.Errorf("%d of its processes have no room in its answer", answer.Left)
	}
	return Answer{SceneOf(answer, time.Now()), err}
}

// Over has the watch look at the command in the launcher, too: own is what its processes do, and
// how many bytes they have written.
func (w *Watch) Over(own func() (Scene, uint64, error)) {
	if w != nil {
		w.own = own
	}
}
