//go:build linux

package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/launch/record"
	"github.com/musterhq/muster/agent/launch/wait"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/rendezvous"
)

// feed passes the pod watch on to the current reader: first the rendezvous, later the supervision
// of the run.
type feed struct {
	pods   chan rendezvous.Snapshot
	failed chan error // the watch has given up
}

func newFeed() *feed {
	return &feed{pods: make(chan rendezvous.Snapshot), failed: make(chan error, 1)}
}

// run keeps the watch running until ctx ends. It retries a watch that has given up, because rights
// that were revoked may be granted again while a job runs.
func (f *feed) run(ctx context.Context, w rendezvous.Watch) {
	for ctx.Err() == nil {
		if err := w.Run(ctx, f.pods); err != nil {
			select {
			case f.failed <- err:
			default:
			}
			wait.Sleep(ctx, deniedFor)
		}
	}
}

// forget forgets that the watch gave up while nothing waited for pods. It has been retried since.
func (f *feed) forget() {
	select {
	case <-f.failed: //nolint:errcheck // an old one
	default:
	}
}

// waiter waits until the workers are ready.
type waiter struct {
	cfg     config.Config
	board   *rendezvous.Board
	links   *Links
	feed    *feed
	record  *record.Log
	agent   string // path of the agent in the workers, for messages
	printer *rendezvous.Printer
	signals <-chan os.Signal
	barred  func(worker string) bool // nil: no worker is
	past    *Past                    // workers that an earlier attempt has lost; nil: this is the first
	shot    rendezvous.Snapshot      // the latest snapshot of the pods
}

// await waits until every worker has answered over its link, and returns the workers ranked. Links
// live in ctx. The wait itself ends at cfg.Timeout with code 75, or 69 if the API server cannot be
// reached; 0 means no limit. It also ends for a reason that waiting cannot fix (76, 77), or by a
// signal (128+n).
func (w *waiter) await(ctx context.Context) ([]rendezvous.Worker, error) {
	deadline, stop := wait.Limit(w.cfg.Timeout)
	defer stop()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	pace := wait.NewPace(w.links.Changed)
	defer pace.Stop()
	if w.past != nil { // the existing workers may suffice, and nothing may change any more
		if done, err := w.look(ctx, time.Now()); done != nil || err != nil {
			return done, err
		}
	}
	for {
		select {
		case shot := <-w.feed.pods:
			w.setPods(shot)
		case err := <-w.feed.failed:
			return nil, w.gaveUp(err)
		case <-pace.Due():
		case <-w.links.whole: // look at once: a rest would only delay everything
		case <-pace.Over():
			pace.Resume()
			continue
		case <-tick.C:
		case sig := <-w.signals:
			if err := ToldWhileWaiting(sig); err != nil {
				return nil, err
			}
		case <-deadline:
			return nil, w.late()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		now := time.Now()
		if done, err := w.look(ctx, now); done != nil || err != nil {
			return done, err
		}
		pace.Looked(now)
	}
}

// look passes the state of the links to the board, opens links that are due, and asks the board how
// far the wait is.
func (w *waiter) look(ctx context.Context, now time.Time) ([]rendezvous.Worker, error) {
	for _, worker := range w.board.Workers() {
		if worker.Running && worker.Container != "" {
			w.links.Follow(ctx, worker)
		}
	}
	for _, s := range w.links.Standings() {
		w.board.SetLink(s.Worker.UID, w.linkState(s))
	}
	progress := w.board.Tick(now)
	w.record.Reasons(progress.Waiting)
	w.record.Count(progress)
	workers, done := w.board.Done()
	reason, hopeless := w.board.Hopeless(now)
	switch {
	case done:
		w.printer.Finish(progress, now)
		return workers, nil
	case hopeless:
		w.printer.Finish(progress, now)
		return nil, w.hopeless(reason)
	}
	w.printer.Show(progress, now)
	return nil, nil
}

// linkState converts the state of a link for the board.
func (w *waiter) linkState(s Standing) rendezvous.LinkState {
	if w.barred != nil && w.barred(s.Worker.Name) {
		return rendezvous.LinkState{Reason: permanent(s.Worker, rendezvous.Error, errBarred.Error(), "the program itself is the likely cause: kubectl logs "+s.Worker.Name+" --previous")}
	}
	if s.Err != nil {
		return rendezvous.LinkState{Reason: reasonOf(s.Worker, w.agent, s.Err)}
	}
	if !s.State.Connected && !s.State.Parked {
		return rendezvous.LinkState{Reason: reasonOf(s.Worker, w.agent, s.State.Last)}
	}
	welcome, _ := s.Link.Welcome()
	if w.past.going(welcome) {
		return rendezvous.LinkState{Reason: reasonOf(s.Worker, w.agent, errGoing)}
	}
	if welcome.RshAgentError != "" && w.cfg.StartsDaemons() == config.SurelyMPIRun {
		return rendezvous.LinkState{Reason: rendezvous.LinkRshAgentMissing(s.Worker.Name, w.links.hello.RshAgent)}
	}
	return rendezvous.LinkState{Ready: true}
}

// hopeless returns the error that ends the wait early.
func (w *waiter) hopeless(r rendezvous.Reason) error {
	return &failure.Failure{Code: r.ExitCode(), Err: &rendezvous.HopelessError{Reason: r}, Way: r.Hint}
}

// gaveUp returns the error for a pod watch that is refused permanently.
func (w *waiter) gaveUp(err error) error {
	var api *rendezvous.APIError
	if errors.As(err, &api) {
		return &failure.Failure{Code: api.Reason().ExitCode(), Err: err, Way: api.Hint()}
	}
	return err
}

// late returns the error at the deadline.
func (w *waiter) late() error {
	if api := w.board.API(); api != nil {
		r := api.Reason()
		return &failure.Failure{Code: r.ExitCode(), Err: fmt.Errorf("wait for workers: %w", api), Way: r.Hint}
	}
	now := time.Now()
	w.printer.Finish(w.board.Tick(now), now)
	report := w.board.Report(now)
	return failure.New(names.ExitDeadline, "--timeout sets how long to wait", "wait for workers: %s", strings.TrimSpace(report))
}

// ToldWhileWaiting returns the error for a signal that ends a wait. It returns nil for signals that
// are meant for a command.
func ToldWhileWaiting(sig os.Signal) error {
	n, ok := sig.(syscall.Signal)
	if !ok || n == syscall.SIGUSR1 || n == syscall.SIGUSR2 {
		return nil
	}
	return failure.New(128+int(n), "", "told to stop by %s while waiting for workers", phrase.SignalName(int(n)))
}

// ready opens links to workers that may take part, and returns the workers that can.
func (w *waiter) ready(working context.Context) []rendezvous.Worker {
	for _, one := range w.board.Workers() {
		if one.Running && one.Container != "" {
			w.links.Follow(working, one)
		}
	}
	for _, s := range w.links.Standings() {
		w.board.SetLink(s.Worker.UID, w.linkState(s))
	}
	return w.board.Ready()
}
