//go:build linux

package launch

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/wait"
	"github.com/musterhq/muster/agent/names"
	"github.com/musterhq/muster/rendezvous"
)

// joinFake starts one more fake worker.
func (r *runner) joinFake(working context.Context) {
	if err := r.fakes.join(r.cfg); err != nil {
		r.voice.Warn("rehearse: %v", err)
	}
	r.links.nudge()
}

// join starts one more worker; who looks for those that are ready finds it.
func (f *fakes) join(cfg config.Config) error {
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
	one, err := f.start(cfg, n, list[n])
	if err != nil {
		return err
	}
	f.workers = append(f.workers, one)
	return nil
}

// ready opens links to the workers whose processes run, and returns those that
// answer. As await, it is called by the run alone.
func (f *fakes) ready(ctx context.Context, l *links) []rendezvous.Worker {
	standings := l.standings()
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
		l.follow(ctx, w.Worker)
		if !w.watched {
			w.watched = true
			f.wg.Go(func() { f.watch(ctx, w, l) })
		}
	}
	return ready
}

// depart notes that a worker was told to stop: it takes part no more, though it may
// answer for a while.
func (f *fakes) depart(name string) {
	for _, w := range f.all() {
		if w.Name == name {
			w.leaving = true
		}
	}
}

// reassemble waits until enough workers are there.
func (f *fakes) reassemble(ctx context.Context, cfg config.Config, l *links, signals <-chan os.Signal) ([]rendezvous.Worker, error) {
	deadline, stop := wait.Limit(cfg.Timeout)
	defer stop()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		ready := f.ready(ctx, l)
		if len(ready) >= cfg.LeastWorkers {
			return ready[:min(len(ready), cfg.Most())], nil
		}
		select {
		case <-l.changed:
		case <-tick.C:
		case sig := <-signals:
			if err := toldWhileWaiting(sig); err != nil {
				return nil, err
			}
		case <-deadline:
			return nil, failure.New(names.ExitDeadline, "--timeout is how long to wait", "wait for workers: %d of at least %d are ready", len(ready), cfg.LeastWorkers)
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for workers: %w", context.Cause(ctx))
		}
	}
}
