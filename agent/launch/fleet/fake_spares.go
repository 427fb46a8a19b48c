//go:build linux

package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/wait"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/rendezvous"
)

// retire replaces workers that are lost or given up, in the background: as a controller makes their
// pods again, which become spares.
func (f *Fakes) retire(working context.Context, gone []string) {
	for i, w := range f.all() {
		if w.renewed || !w.over() && !slices.Contains(gone, w.Name) {
			continue
		}
		w.renewed = true
		f.wg.Go(func() {
			select {
			case <-w.proc.Done():
			case <-w.ended: // the run ends
				return
			case <-working.Done():
				return
			}
			if err := f.again(working, i, w); err != nil {
				f.Voice.Warn("%v", err)
			}
			f.Links.Nudge()
		})
	}
}

// quit ends spares that have no link, and so cannot be told that the job is over.
func (f *Fakes) quit() {
	standings := f.Links.Standings()
	for _, w := range f.all() {
		if st := standings[w.Name]; f.Seats != nil && !f.Seats.Holds(w.Name) && !(st.State.Linked && Same(st.Worker, w.Worker)) {
			_ = w.proc.Signal(syscall.SIGKILL) // it may have ended
		}
	}
}

// over reports whether the worker's process has ended.
func (w *fakeWorker) over() bool {
	select {
	case <-w.proc.Done():
		return true
	default:
		return false
	}
}

// seated opens links to the workers whose processes run. It returns a worker for each seat, or false
// while that is impossible.
func (f *Fakes) seated(working context.Context) ([]rendezvous.Worker, bool) {
	ready := f.Ready(working)
	var all []rendezvous.Worker
	hopeless := map[string]bool{}
	standings := f.Links.Standings()
	for _, w := range f.all() {
		all = append(all, w.Worker)
		st, known := standings[w.Name]
		hopeless[w.Name] = w.renewed || w.over() || known && Same(st.Worker, w.Worker) && st.Err != nil
	}
	is := func(w rendezvous.Worker) bool {
		return slices.ContainsFunc(ready, func(one rendezvous.Worker) bool { return Same(one, w) })
	}
	return f.Seats.Choose(all, is, func(w rendezvous.Worker) bool { return hopeless[w.Name] }, false)
}

// awaitSeats waits until a worker that answers has each seat.
func (f *Fakes) awaitSeats(working context.Context) ([]rendezvous.Worker, error) {
	deadline, stop := wait.Limit(f.cfg.Timeout)
	defer stop()
	for {
		if workers, ok := f.seated(working); ok {
			return workers, nil
		}
		if err := f.tooFew(); err != nil {
			return nil, err
		}
		select {
		case <-f.Links.Changed:
		case sig := <-f.Signals:
			if err := ToldWhileWaiting(sig); err != nil {
				return nil, err
			}
		case <-deadline:
			return nil, failure.New(names.ExitDeadline, "--timeout sets how long to wait", "wait for workers: %d of %d are ready: %w", len(f.Ready(working)), f.Seats.Number(), errors.New("no answer yet"))
		case <-working.Done():
			return nil, fmt.Errorf("wait for workers: %w", context.Cause(working))
		}
	}
}

// tooFew returns an error if so many workers could not be started that waiting does not help.
func (f *Fakes) tooFew() error {
	standings := f.Links.Standings()
	var dead []Standing
	all := f.all()
	for _, w := range all {
		if st, known := standings[w.Name]; known && !w.renewed && Same(st.Worker, w.Worker) && st.Err != nil {
			dead = append(dead, st)
		}
	}
	if len(all)-len(dead) >= f.Seats.Number() {
		return nil
	}
	return failure.New(names.ExitHopeless, f.lastLine(dead[0].Worker), "fake worker %s did not start: %s", dead[0].Worker.Name, CauseOf(dead[0].Err))
}
