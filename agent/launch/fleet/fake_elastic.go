//go:build linux

package fleet

import (
	"context"
	"fmt"
	"time"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/wait"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/rendezvous"
)

// joinOne starts one more fake worker.
func (f *Fakes) joinOne() {
	if err := f.join(); err != nil {
		f.Voice.Warn("inject a fault: %v", err)
	}
	f.Links.Nudge()
}

// join starts another fake worker; the next call of Ready picks it up.
func (f *Fakes) join() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	n := len(f.workers)
	list, err := static(n + 1)
	if err != nil {
		return err
	}
	one, err := f.start(n, list[n])
	if err != nil {
		return err
	}
	f.workers = append(f.workers, one)
	return nil
}

// Ready opens links to the workers whose processes run, and returns the workers that answer. Like
// Gather, only the goroutine of the run may call it.
func (f *Fakes) Ready(ctx context.Context) []rendezvous.Worker {
	standings := f.Links.Standings()
	var ready []rendezvous.Worker
	for _, w := range f.all() {
		select {
		case <-w.proc.Done():
			continue
		default:
		}
		if w.leaving || w.renewed || f.Barred != nil && f.Barred(w.Name) {
			continue
		}
		if st, known := standings[w.Name]; known && st.Err == nil && st.State.Linked {
			ready = append(ready, w.Worker)
		}
		f.Links.Follow(ctx, w.Worker)
		if !w.watched {
			w.watched = true
			f.wg.Go(func() { f.watch(ctx, w) })
		}
	}
	return ready
}

// Depart records that a worker was told to stop. It no longer takes part, though it may answer for
// a while.
func (f *Fakes) Depart(name string) {
	for _, w := range f.all() {
		if w.Name == name {
			w.leaving = true
		}
	}
}

// Reassemble waits until an elastic run has enough workers. Like a controller, it replaces those that
// the launcher has given up. A lost worker stays away, so that a run can be rehearsed without it.
func (f *Fakes) Reassemble(run, ctx context.Context, v Vacancies) ([]rendezvous.Worker, error) {
	if err := f.renew(run, v.Given); err != nil {
		return nil, err
	}
	deadline, stop := wait.Limit(f.cfg.Timeout)
	defer stop()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		ready := f.Ready(ctx)
		if len(ready) >= f.cfg.LeastWorkers {
			return ready[:min(len(ready), f.cfg.Most())], nil
		}
		select {
		case <-f.Links.Changed:
		case <-tick.C:
		case sig := <-f.Signals:
			if err := ToldWhileWaiting(sig); err != nil {
				return nil, err
			}
		case <-deadline:
			return nil, failure.New(names.ExitDeadline, "--timeout sets how long to wait", "wait for workers: %d of at least %d are ready", len(ready), f.cfg.LeastWorkers)
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for workers: %w", context.Cause(ctx))
		}
	}
}

// Pods returns nil, because there is no API server.
func (f *Fakes) Pods() <-chan rendezvous.Snapshot { return nil }

// StatusWait returns 0, because no status says more than a link.
func (f *Fakes) StatusWait() time.Duration { return 0 }

// Agent returns the path of the agent. The workers run the launcher's own.
func (f *Fakes) Agent() string { return f.place.Agent }

// ByHand returns the command itself, because the workers are on this machine.
func (f *Fakes) ByHand(_, command string) string { return command }

// Hear does nothing.
func (f *Fakes) Hear(rendezvous.Snapshot) {}

// Seen returns an empty snapshot.
func (f *Fakes) Seen() rendezvous.Snapshot { return rendezvous.Snapshot{} }
