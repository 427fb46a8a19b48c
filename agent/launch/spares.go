//go:build linux

package launch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/musterhq/muster/agent/check"
	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/launch/preflight"
	"github.com/musterhq/muster/agent/launch/report"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/rendezvous"
)

// seat gives the seats of a run with spares to the workers of the next attempt, and says which
// workers were replaced. why has the reasons, by name. since is when a replacement was needed.
func (r *runner) seat(attempt int, workers []rendezvous.Worker, why map[string]string, since time.Time) {
	if r.seats == nil {
		return
	}
	for _, s := range r.seats.Take(workers) {
		name, reason := s.From.Name, why[s.From.Name]
		if name == "" {
			name = fmt.Sprint(s.Seat)
		}
		if reason == "" {
			reason = "is not ready"
		}
		r.voice.Say("worker %s %s: %s takes its place", name, reason, s.To.Name)
		r.record.Worker(event.Replaced, s.From.Name, s.From.Node, fmt.Sprintf("%s, because it %s", s.To.Name, reason))
		r.report.Spares = append(r.report.Spares, report.Spare{Attempt: attempt, Position: s.Seat, Worker: s.From.Name, Spare: s.To.Name, Why: reason, AddedMS: time.Since(since).Milliseconds()})
	}
	seated := map[string]bool{}
	for _, w := range workers {
		seated[w.Name] = true
	}
	r.links.Seat(seated)
}

// vacate empties the seats of workers that cannot take part in the next attempt. given are those
// that the launcher has given up. It returns the reasons for seat.
func (r *runner) vacate(workers []rendezvous.Worker, gone, given []string) map[string]string {
	why := map[string]string{}
	for _, w := range workers {
		switch {
		case !slices.Contains(gone, w.Name):
		case slices.Contains(given, w.Name):
			why[w.Name] = "was given up"
			r.seats.Vacate(w, true)
		default:
			why[w.Name] = "is lost"
			r.seats.Vacate(w, false)
		}
	}
	return why
}

// spareAnswers is how long a spare that takes a seat may take to answer. Its link may have been
// parked for hours.
const spareAnswers = 10 * time.Second

// rejected asks workers that are about to take seats for an answer. It gives up workers that do not
// answer in time, and reports whether there were any.
func (r *runner) rejected(ctx context.Context, workers []rendezvous.Worker) bool {
	ctx, stop := context.WithTimeout(ctx, spareAnswers)
	defer stop()
	var asked sync.WaitGroup
	silent := make([]bool, len(workers))
	for i, w := range workers {
		if l := r.links.LinkOf(w.Name); l != nil && !r.seats.Holds(w.Name) {
			asked.Go(func() { silent[i] = l.End(ctx, true, 0) != nil || r.links.Standings()[w.Name].Err != nil })
		}
	}
	asked.Wait()
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return false // the run ends
	}
	for i, w := range workers {
		if silent[i] {
			r.voice.Say("spare %s does not answer", w.Name)
			r.seats.Vacate(w, true)
		}
	}
	return slices.Contains(silent, true)
}

// substitute replaces workers that have failed the preflight by spares, and waits for spares that are
// not ready yet. It returns false if something is wrong that no worker is to blame for, or if there
// are too few spares. Replacements of bad workers count as bad spares do, so it ends even if they
// fail again.
func (r *runner) substitute(ctx, working context.Context, a *attempt, found []check.Finding) (done bool, err error) {
	began, bad := time.Now(), check.Bad(found)
	if r.seats == nil || len(bad) == 0 || slices.ContainsFunc(found, func(f check.Finding) bool { return f.Verdict == check.Fail && f.Worker == "" }) {
		return false, nil
	}
	if a.failed += len(bad); a.failed > r.cfg.Spares {
		r.voice.Warn("too few spares: %s failed the preflight", phrase.Count(a.failed, "worker"))
		return false, nil
	}
	why, standings := map[string]string{}, r.links.Standings()
	for _, name := range bad {
		why[name] = "failed its preflight (" + phrase.Count(failures(found, name), "check") + ")"
		r.seats.Vacate(standings[name].Worker, true)
		if a.number == 0 {
			r.report.Left(name)
		}
	}
	r.sayAll(preflight.Sentences(found))
	v := fleet.Vacancies{Names: bad, Given: bad, Past: fleet.NewPast(bad, standings), Shot: r.shot}
	r.wg.Go(func() { r.dismiss(working, bad, standings) })
	workers, err := r.fleet.Replace(ctx, working, v)
	r.shot = r.fleet.Seen()
	if err != nil {
		return false, err
	}
	r.seat(a.number, workers, why, began)
	a.workers = workers
	return true, nil
}

// failures counts the failed checks that blame a worker.
func failures(found []check.Finding, worker string) (n int) {
	for _, f := range found {
		if f.Verdict == check.Fail && f.Worker == worker {
			n++
		}
	}
	return n
}

// dismiss tells workers that were given up to end, so that their pods are recreated. A worker that
// does not answer ends with its lease.
func (r *runner) dismiss(working context.Context, bad []string, standings map[string]fleet.Standing) {
	telling, stop := context.WithTimeout(working, r.cfg.AnswerTime())
	defer stop()
	all := map[string]string{}
	for _, name := range bad {
		all[name] = names.WhyPreflight
	}
	if stay, err := r.links.Replace(telling, all, clearGrace); err != nil || len(stay) > 0 {
		r.log.Warn("a worker that a spare has replaced stays", "workers", bad, "too old", stay, "error", err)
	}
	for _, name := range bad {
		r.links.Dismiss(standings[name].Worker, errGivenUp)
	}
}

var errGivenUp = errors.New("it failed its preflight")

// hearPods passes the pods on to the fleet, so that spares that come later get a link.
func (r *runner) hearPods(working context.Context) func(shot rendezvous.Snapshot) {
	if r.seats == nil {
		return nil
	}
	var heard time.Time
	return func(shot rendezvous.Snapshot) {
		if !shot.At.Equal(heard) {
			heard = shot.At
			r.fleet.Hear(shot)
		}
		r.fleet.Ready(working)
	}
}
