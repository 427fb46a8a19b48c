//go:build linux

package launch

import (
	"context"
	"syscall"
	"time"
)

// sweep ends what the attempt's command has left behind in the launcher. If the command was told to
// end, what it has started since has the rest of the grace to save something, until
// the run is told once more.
func (r *runner) sweep(working context.Context, a *attempt) error {
	if a.command == nil {
		return nil
	}
	defer r.tees.Finish()
	grace := min(r.cfg.Grace, lostGrace)
	e := a.watcher.ending
	if !e.phase.told() || a.command.Status().Signal == syscall.SIGKILL {
		return a.command.Sweep(working, time.Time{}, grace)
	}
	ctx, cancel := context.WithCancel(working)
	defer cancel()
	r.wg.Go(func() { r.awaitAgain(ctx, cancel, e.at) })
	err := a.command.Sweep(ctx, e.at, max(grace, r.cfg.Grace-time.Since(e.at)))
	if ctx.Err() != nil {
		return a.command.Sweep(working, time.Time{}, 0)
	}
	return err
}

// awaitAgain calls hurry when the run, which was told to end at that time, is told once more.
func (r *runner) awaitAgain(ctx context.Context, hurry func(), at time.Time) {
	for {
		select {
		case <-ctx.Done():
			return
		case sig := <-r.signals:
			if (sig == syscall.SIGTERM || sig == syscall.SIGINT) && time.Since(at) >= sameSignal {
				hurry()
				return
			}
		}
	}
}
