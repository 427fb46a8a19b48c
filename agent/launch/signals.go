//go:build linux

package launch

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/supervise"
)

// untilSignal returns a context that ends with ctx, or with the next signal to the launcher that is not
// meant for the command. toldIn then returns what the signal says. The caller must call stop.
func (r *runner) untilSignal(ctx context.Context) (until context.Context, stop func()) {
	until, cancel := context.WithCancelCause(ctx)
	var listening sync.WaitGroup
	listening.Go(func() {
		for until.Err() == nil {
			select {
			case sig := <-r.signals:
				if err := fleet.ToldWhileWaiting(sig); err != nil {
					cancel(err)
				}
			case <-until.Done():
			}
		}
	})
	return until, func() { cancel(nil); listening.Wait() }
}

// toldIn returns the error of the signal that ended a context of untilSignal, or nil.
func toldIn(ctx context.Context) error {
	var told *failure.Failure
	if errors.As(context.Cause(ctx), &told) {
		return told
	}
	return nil
}

// hurryUp calls stop when a signal tells us not to wait for the workers. A signal that comes at once is
// the echo of what ended the run, or came before the workers could be told: it only limits the wait.
func (r *runner) hurryUp(ctx context.Context, stop func(), limit time.Duration) {
	began := time.Now()
	late := time.NewTimer(limit)
	late.Stop()
	defer late.Stop()
	for {
		select {
		case sig := <-r.signals:
			switch {
			case fleet.ToldWhileWaiting(sig) == nil: // meant for the command
			case time.Since(began) < supervise.SameSignal:
				late.Reset(limit)
			default:
				r.voice.Say("%v: not waiting for the workers", sig)
				stop()
				return
			}
		case <-late.C:
			stop()
		case <-ctx.Done():
			return
		}
	}
}
