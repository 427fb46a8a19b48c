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

// Asker reports what the processes on one worker do.
type Asker interface {
	// Ask asks the worker once. The error says why there is no answer.
	Ask(ctx context.Context) (wire.AnswerRecord, error)
}

// Finding is a result of the watch over a run.
type Finding struct {
	Scenes map[string]Scene // what is seen, by worker; "" is the launcher
	// Unknown are the workers that could not be asked, and why. If there are any, there is no
	// verdict.
	Unknown map[string]error
	Since   time.Time // when the run was last seen to do something
	Over    bool      // what was reported to hang moves again
	// Polls means that this is only a suspicion, because ranks use processors. Stacks is set then.
	Polls   bool
	Polling []int // which of the ranks poll
	// Stacks says where the ranks stand; nil: they were not asked.
	Stacks *Standing
}

// Watch detects a run that hangs. While output flows it asks no worker. After that it asks only the
// worker that was busy last. If that one does nothing, it asks all of them, four times before the
// verdict.
type Watch struct {
	After   time.Duration
	workers func() map[string]Asker
	// own looks at the command in the launcher, and counts the bytes that it has written. It is nil
	// if there is no command; Wrote then notes output.
	own  func() (Scene, uint64, error)
	news chan Finding
	// Unstacked means that no stacks are taken.
	Unstacked bool
	// stillOnly means that the watch does not look for ranks that poll.
	stillOnly bool
	// Wary means that the user has not asked for the watch, so it reports only certain hangs.
	Wary bool

	born    time.Time
	printed *atomic.Int64 // time of the last output, in nanoseconds since born: a changed clock is no silence
	named   *sessionNames

	stop context.CancelFunc
	wg   sync.WaitGroup

	// Used only by the watch's own goroutine.
	still   *stillness
	busy    string  // the worker that was last seen to do something
	written uint64  // bytes that own has counted
	polling polling // ranks that wait by polling
	// uncounted means that the number of bytes written before the watch began is unknown.
	uncounted bool
	told      bool // this hang was reported
	doubted   bool // it was reported that there can be no verdict
}

// askTime is how long a worker may take to answer. A parked link has to be redialed first.
const askTime = 20 * time.Second

// parts is the number of steps in which the time is watched.
const parts = 4

// NewWatch returns a watch that reports a hang if nothing has happened for after. workers returns
// the workers that can be asked; it is called at each look.
func NewWatch(after time.Duration, workers func() map[string]Asker) *Watch {
	return &Watch{After: after, workers: workers, born: time.Now(), printed: &atomic.Int64{}, news: make(chan Finding), named: &sessionNames{of: map[string]string{}}}
}

// Follow returns another watch over the same run, which hears the same output.
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

// Name records what a session runs.
func (w *Watch) Name(session, label string) {
	if w == nil {
		return
	}
	w.named.mu.Lock()
	defer w.named.mu.Unlock()
	w.named.of[session] = label
}

// LabelOf returns the label that Name recorded for a session, or "".
func (w *Watch) LabelOf(session string) string {
	w.named.mu.Lock()
	defer w.named.mu.Unlock()
	return w.named.of[session]
}

// sessionNames holds the names of processes that Muster started, by session.
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

// Tell returns the channel of findings. It is nil for a nil watch.
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

// lastOutput updates the record, and returns the time of the last output.
func (w *Watch) lastOutput() time.Time {
	if at := w.born.Add(time.Duration(w.printed.Load())); at.After(w.still.printed) {
		w.still.printed = at
	}
	return w.still.printed
}

// moved handles a run that does something.
func (w *Watch) moved(ctx context.Context) {
	if w.told {
		w.say(ctx, Finding{Over: true})
	}
	w.told, w.doubted = false, false
}

// judge reports a finding if nothing was seen to move.
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
		h := Finding{Scenes: maps.Clone(w.still.scenes), Since: w.still.since()}
		if !w.Unstacked {
			at := TakeStacks(ctx, hangStacks, wire.ProgramsBrief, w.workers(), w.LabelOf)
			h.Stacks = &at
		}
		w.say(ctx, h)
		if !w.Unstacked {
			// Taking stacks uses processor time on every worker, which is no work.
			w.take(AskAll(ctx, w.workers()), map[string]error{})
		}
	}
}

// sure reports whether a hang is certain enough for a user who has not asked. Some ranks are on
// workers, and something was printed before. No rank waits for a timer or for clients, as idle
// services do.
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

// isIdle reports whether a process waits for something that may never come: a timer, a client, a
// signal. It also returns true if the system call is not shown, because then this cannot be ruled
// out.
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

// look looks at the launcher's own command, then at the worker that was busy last, then at all
// workers. It stops at the first that has done something.
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

// Answer is the result of a question.
type Answer struct {
	Scene Scene
	Err   error
}

// take records answers, and reports whether one of them shows work.
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

// askersAtOnce bounds the number of open questions, because parked links have to be redialed.
const askersAtOnce = 32

// AskAll asks many workers at a time.
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
		err = fmt.Errorf("its answer lacks %d of its processes", answer.Left)
	}
	return Answer{SceneOf(answer, time.Now()), err}
}

// Over makes the watch look at the command in the launcher, too. own returns what its processes do,
// and how many bytes they have written.
func (w *Watch) Over(own func() (Scene, uint64, error)) {
	if w != nil {
		w.own = own
	}
}
