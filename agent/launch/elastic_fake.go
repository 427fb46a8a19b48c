//go:build linux

package launch

import (
	"context"
	"fmt"
	"time"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/wait"
	"github.com/musterhq/muster/agent/names"
	"github.com/musterhq/muster/rendezvous"
)

// joinOne starts one more fake worker.
func (f *fakes) joinOne() {
	if err := f.join(); err != nil {
		f.voice.Warn("rehearse: %v", err)
	}
	f.links.nudge()
}

// join starts one more worker; who looks for those that are ready finds it.
func (f *fakes) join() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	n := len(f.workers)
	list, err := rendezvous.Static(n + 1)
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

// ready implements fleet: it opens links to the workers whose processes run, and returns
// those that answer. As gather, it is called by the run alone.
func (f *fakes) ready(ctx context.Context) []rendezvous.Worker {
	standings := f.links.standings()
	var ready []rendezvous.Worker
	for _, w := range f.all() {
		select {
		case <-w.proc.Done():
			continue
		default:
		}
		if w.leaving {
			continue
		}
		if st, known := standings[w.Name]; known && st.err == nil && st.state.Linked {
			ready = append(ready, w.Worker)
		}
		f.links.follow(ctx, w.Worker)
		if !w.watched {
			w.watched = true
			f.wg.Go(func() { f.watch(ctx, w) })
		}
	}
	return ready
}

// depart implements fleet: it notes that a worker was told to stop: it takes part no more, though it may
// answer for a while.
func (f *fakes) depart(name string) {
	for _, w := range f.all() {
		if w.Name == name {
			w.leaving = true
		}
	}
}

// reassemble waits until enough workers are there.
func (f *fakes) reassemble(ctx context.Context) ([]rendezvous.Worker, error) {
	deadline, stop := wait.Limit(f.cfg.Timeout)
	defer stop()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		ready := f.ready(ctx)
		if len(ready) >= f.cfg.LeastWorkers {
			return ready[:min(len(ready), f.cfg.Most())], nil
		}
		select {
		case <-f.links.changed:
		case <-tick.C:
		case sig := <-f.signals:
			if err := toldWhileWaiting(sig); err != nil {
				return nil, err
			}
		case <-deadline:
			return nil, failure.New(names.ExitDeadline, "--timeout is how long to wait", "wait for workers: %d of at least %d are ready", len(ready), f.cfg.LeastWorkers)
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for workers: %w", context.Cause(ctx))
		}
	}
}

// pods implements fleet: there is no API server.
func (f *fakes) pods() <-chan rendezvous.Snapshot { return nil }

// hear implements fleet.
func (f *fakes) hear(rendezvous.Snapshot) {}

// seen implements fleet.
func (f *fakes) seen() rendezvous.Snapshot { return rendezvous.Snapshot{} }
