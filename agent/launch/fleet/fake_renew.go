//go:build linux

package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/wait"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/rendezvous"
)

// Replace replaces lost workers.
func (f *Fakes) Replace(ctx, working context.Context, v Vacancies) ([]rendezvous.Worker, error) {
	if f.Seats != nil {
		f.retire(working, v.Names)
		return f.awaitSeats(working)
	}
	if err := f.renew(ctx, v.Names); err != nil {
		return nil, err
	}
	return f.Gather(working)
}

// renew replaces lost workers as a controller replaces pods: under the same name and address, with
// nothing left of the old one. It waits for a worker that is about to end.
func (f *Fakes) renew(ctx context.Context, gone []string) error {
	ctx, cancel := wait.Within(ctx, f.cfg.Timeout, errors.New("--timeout has passed"))
	defer cancel()
	for i, w := range f.all() {
		if !slices.Contains(gone, w.Name) {
			continue
		}
		if err := f.awaitEnd(ctx, w); err != nil {
			return err
		}
		if err := f.again(ctx, i, w); err != nil {
			return err
		}
	}
	return nil
}

// again starts worker i again, whose process has ended, unless no more may join.
func (f *Fakes) again(ctx context.Context, i int, w *fakeWorker) error {
	if err := f.sweepOne(ctx, w); err != nil {
		return fmt.Errorf("end fake worker %s: %w", w.Name, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	if err := os.RemoveAll(w.dir); err != nil {
		return fmt.Errorf("recreate fake worker %s: %w", w.Name, err)
	}
	next := w.Worker
	next.Restarts++
	next.UID = fmt.Sprintf("fake-%d-r%d", i, next.Restarts)
	one, err := f.start(i, next)
	if err != nil {
		return err
	}
	f.workers[i] = one
	return nil
}

// awaitEnd waits until the worker's process has ended.
func (f *Fakes) awaitEnd(ctx context.Context, w *fakeWorker) error {
	for {
		select {
		case <-w.proc.Done():
			return nil
		case sig := <-f.Signals:
			if err := ToldWhileWaiting(sig); err != nil {
				return err
			}
		case <-ctx.Done():
			return failure.New(names.ExitDeadline, "--timeout sets how long to wait", "wait for workers: %s does not end: %w", w.Name, context.Cause(ctx))
		}
	}
}

// sweepOne ends what an ended worker left behind.
func (f *Fakes) sweepOne(ctx context.Context, w *fakeWorker) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_, err := f.reaper.Stop(ctx, w.tree.Find, 0)
	return err
}
