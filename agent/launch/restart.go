//go:build linux

package launch

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/launch/supervise"
	"github.com/musterhq/muster/agent/launch/tally"
	"github.com/musterhq/muster/agent/launch/wait"
	"github.com/musterhq/muster/agent/retry"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/rendezvous"
)

const (
	// clearGrace is the grace for what outlived an attempt on its workers. The command had its own
	// grace, and mpirun's orphans do not use theirs.
	clearGrace = time.Second
	// clearTold is how long the workers may take before the user is told about the wait.
	clearTold = 5 * time.Second
	// restartShown is how long `agent ready` reports a restart. It is two periods of the
	// controller's probe, so that the probe misses none.
	restartShown = 25 * time.Second
	// proveTime is how long a worker we gave up on has to answer before it is replaced.
	proveTime = 2 * time.Second
)

// prepare makes sure that nothing of the attempt runs anywhere. It returns the workers of the next
// attempt, and waits for replacements of lost workers.
func (r *runner) prepare(ctx, working context.Context, a *attempt, d retry.Decision, port *int) ([]rendezvous.Worker, error) {
	r.voice.Warn("%s", d.Sentence)
	r.record.Begin(d.Next)
	r.record.Note(event.Restart, d.Sentence, 0)
	r.place.Trouble(r.voice, d.Sentence, time.Now().Add(restartShown))
	r.tees.Drain(r.voice)
	if err := r.sweep(working, a); err != nil {
		return nil, failure.New(names.ExitBug, "a restart needs all processes of the previous attempt to end", "restart: %w", err)
	}
	if err := r.clearBut(ctx, working, a.workers, a.watcher.Departing()); err != nil {
		return nil, err
	}
	r.hearTheLast(ctx)
	next, rest := r.ports.Next(time.Now())
	*port = next
	if err := r.rest(ctx, max(d.Pause, rest)); err != nil {
		return nil, err
	}
	gone := r.gone(ctx, a)
	given, err := r.giveUp(ctx, working, a, d.Action, gone)
	if err != nil {
		return nil, err
	}
	r.tally.Again()
	return r.membership.next(ctx, working, a, append(gone, given...), given)
}

// clear tells every worker to end all that runs on it. It returns when each worker that is not lost
// has confirmed that nothing runs there.
func (r *runner) clear(ctx, working context.Context, workers []rendezvous.Worker) error {
	return r.clearBut(ctx, working, workers, nil)
}

// clearBut is clear without workers that are about to end, which end their processes themselves.
func (r *runner) clearBut(ctx, working context.Context, workers []rendezvous.Worker, going map[string]bool) error {
	limit := r.cfg.AnswerTime()
	telling, stop := context.WithTimeoutCause(working, limit, fmt.Errorf("no answer within %s", limit))
	defer stop()
	skipped := r.links.Spares() // nothing of an attempt runs there
	maps.Copy(skipped, going)
	cleared := make(chan error, 1)
	r.wg.Go(func() {
		cleared <- r.links.End(telling, true, min(r.cfg.Grace, clearGrace), skipped, func(string) bool { return false })
	})
	late := time.AfterFunc(clearTold, func() {
		r.voice.Say("waiting for workers to stop the previous attempt%s", r.unheard())
	})
	defer late.Stop()
	s := r.observer(slices.DeleteFunc(slices.Clone(workers), func(w rendezvous.Worker) bool { return going[w.Name] }))
	s.Group = true // the loss of a worker ends nothing here
	defer func() { r.shot = s.Seen() }()
	ended, err := s.Attend(ctx, cleared)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case ended && err != nil:
		return failure.New(names.ExitDeadline, "--timeout sets how long to wait", "restart: %s", phrase.OneLine(err))
	case !ended:
		r.hurry = true
	}
	return err
}

// hearTheLast waits until the ends of the command's sessions are recorded. Otherwise they would
// count for the next attempt.
func (r *runner) hearTheLast(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, tally.HeardWait)
	defer stop()
	for r.tally.OpenCalls() > 0 && wait.Sleep(ctx, 5*time.Millisecond) {
	}
}

// unheard names the workers whose links are down.
func (r *runner) unheard() string {
	var list []string
	for name, s := range r.links.Standings() {
		if s.Err == nil && !s.State.Connected {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	if len(list) == 0 {
		return ""
	}
	return " (no answer: " + strings.Join(list[:min(len(list), 5)], ", ") + ")"
}

// rest waits before the next attempt.
func (r *runner) rest(ctx context.Context, pause time.Duration) error {
	if pause <= 0 {
		return nil
	}
	over := time.NewTimer(pause)
	defer over.Stop()
	for {
		select {
		case <-over.C:
			return nil
		case sig := <-r.signals:
			if err := fleet.ToldWhileWaiting(sig); err != nil {
				r.hurry = true
				return err
			}
		case r.shot = <-r.fleet.Pods():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// gone returns the attempt's workers that cannot take part in the next one: lost, or about to end.
func (r *runner) gone(ctx context.Context, a *attempt) []string {
	ctx, cancel := context.WithTimeout(ctx, proveTime)
	defer cancel()
	standings := r.links.Standings()
	taken := supervise.Going(a.workers, r.shot)
	var gone []string
	for _, w := range a.workers {
		s := standings[w.Name]
		switch {
		case s.Err != nil, taken[w.Name], r.tally.IsLeaving(w.Name), r.tally.IsLost(w.Name) && !s.Link.Prove(ctx):
			gone = append(gone, w.Name)
		}
		if r.tally.IsLeaving(w.Name) {
			r.fleet.Depart(w.Name)
		}
	}
	return gone
}

// replace returns the workers with which wait ends, a method of the fleet. gone are workers that are
// lost or given up, and given those that are given up.
func (r *runner) replace(ctx, working context.Context, gone, given []string, wait func(ctx, working context.Context, v fleet.Vacancies) ([]rendezvous.Worker, error)) ([]rendezvous.Worker, error) {
	waited := time.Now()
	defer func() { r.report.WaitMS += time.Since(waited).Milliseconds() }()
	v := fleet.Vacancies{Names: gone, Given: given, Past: fleet.NewPast(gone, r.links.Standings()), Shot: r.shot}
	r.absent.Pods(v.Past.Pods)
	r.links.Forget(gone)
	workers, err := wait(ctx, working, v)
	r.shot = r.fleet.Seen()
	if err != nil {
		r.hurry = true
		return nil, err
	}
	r.recordReplaced(gone)
	r.record.Note(event.AllLinked, "", len(workers))
	// A worker we gave up on may be back, with its old processes still running.
	return workers, r.clear(ctx, working, workers)
}

// sweep ends what the attempt's command has left behind in the launcher. If the command was told to
// stop, the processes that it has started since then have the rest of the grace to save, until a
// second signal comes.
func (r *runner) sweep(working context.Context, a *attempt) error {
	if a.command == nil {
		return nil
	}
	defer r.tees.Finish()
	grace := min(r.cfg.Grace, supervise.LostGrace)
	if a.watcher.Told() == 0 || a.command.Status().Signal == syscall.SIGKILL {
		return a.command.Sweep(working, time.Time{}, grace)
	}
	ctx, cancel := context.WithCancel(working)
	defer cancel()
	r.wg.Go(func() { r.awaitAgain(ctx, cancel, a.watcher.ToldAt()) })
	err := a.command.Sweep(ctx, a.watcher.ToldAt(), max(grace, r.cfg.Grace-time.Since(a.watcher.ToldAt())))
	if ctx.Err() != nil {
		return a.command.Sweep(working, time.Time{}, 0)
	}
	return err
}

// awaitAgain calls hurry if a second signal comes. at is when the first signal came.
func (r *runner) awaitAgain(ctx context.Context, hurry func(), at time.Time) {
	for {
		select {
		case <-ctx.Done():
			return
		case sig := <-r.signals:
			if (sig == syscall.SIGTERM || sig == syscall.SIGINT) && time.Since(at) >= supervise.SameSignal {
				hurry()
				return
			}
		}
	}
}
