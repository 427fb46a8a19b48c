//go:build linux

package launch

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/plan"
	"github.com/musterhq/muster/agent/launch/supervise"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/rendezvous"
)

// elastic is the membership of a run with --min-workers.
type elastic struct{ *runner }

// enroll gives the attempt's supervisor its roster.
func (r elastic) enroll(working context.Context, a *attempt) {
	a.made.Store, a.made.First = a.workers[0].Name, len(a.workers)
	one := &supervise.Roster{Hear: r.fleet.Hear, Workforce: rendezvous.Workforce{Least: r.cfg.LeastWorkers, Most: r.cfg.Most()}, Absent: r.absent,
		Ready:  func() []rendezvous.Worker { return r.fleet.Ready(working) },
		Needed: len(a.plan.Processes) > 0 || names.IsMPIRun(r.cfg.Command[0]), Takes: a.plan.Elastic}
	one.Changed = func(c rendezvous.Change, takes bool) { r.adapt(a, one, c, takes) }
	one.Workforce.Look(a.workers, nil)
	a.watcher.Enroll(one)
}

// next waits until there are enough workers, and returns all that exist.
func (r elastic) next(ctx, working context.Context, _ *attempt, gone, given []string) ([]rendezvous.Worker, error) {
	workers, err := r.replace(ctx, working, gone, given, r.fleet.Reassemble)
	if err == nil {
		r.absent.Return(workers)
	}
	return workers, err
}

// adapt updates everything after a change of the workers. takes means that processes are started on
// workers that have joined.
func (r *runner) adapt(a *attempt, who *supervise.Roster, c rendezvous.Change, takes bool) {
	present := who.Workforce.Present()
	a.workers = who.Workforce.All()
	r.report.TookPart(present)
	planned, err := r.rewrite(a, present)
	if err != nil {
		r.voice.Warn("cannot update the hostfile after a change of the workers: %v", err)
		planned = a.plan
	}
	for _, w := range slices.Concat(c.Joined, c.Back) {
		r.tally.Back(w.Name)
	}
	a.progress.Again()
	if takes || !who.Needed { // otherwise the next attempt is their first
		r.recordStart(c.Joined)
	}
	if !takes {
		return
	}
	a.plan = planned
	for _, w := range c.Joined {
		if err := r.enlist(a, w); err != nil {
			r.voice.Warn("worker %s joined, but its processes cannot be started: %v", w.Name, err)
		}
	}
}

// rewrite updates plan, hostfiles and broker, and returns the new plan. The attempt keeps the plan
// of its running processes.
func (r *runner) rewrite(a *attempt, present []rendezvous.Worker) (planned plan.Plan, err error) {
	planned = a.plan
	planned.Hosts, planned.Processes = nil, nil
	if len(present) > 0 {
		a.made.Ranked, a.made.Welcomes = present, r.welcomes()
		if planned, err = r.place.Plan(a.made); err != nil {
			return planned, err
		}
	}
	r.broker.set(planned, r.links.Standings(), a.hang.LabelOf) // before the files: a reader of a file may call its hosts
	if err := r.place.Write(planned.All(), r.agent); err != nil {
		return planned, err
	}
	if err := r.place.Note(planned); err != nil {
		return planned, fmt.Errorf("write plan: %w", err)
	}
	return planned, nil
}

// enlist starts the plan's processes on a worker that has joined.
func (r *runner) enlist(a *attempt, w rendezvous.Worker) error {
	for _, p := range a.plan.Processes {
		if a.plan.Hosts[p.Worker].Name != w.Name {
			continue
		}
		m, err := a.process(p)
		if err != nil {
			return err
		}
		if !a.group.Add(m) {
			return errors.New("the group is about to end")
		}
		a.live.Add(1)
	}
	return nil
}

// endedToRestart reports whether we ended the attempt because its workers have changed. The command's
// exit code does not count then, even if it is 0.
func (a *attempt) endedToRestart() bool { return a.watcher.RestartFor != "" && a.watcher.Asked() }

// fit leaves out workers that were given up before, until they have ended the old processes.
func (r *runner) fit(working context.Context, ready []rendezvous.Worker) []rendezvous.Worker {
	return r.absent.Fit(ready, func(w rendezvous.Worker) {
		r.wg.Go(func() { r.clearOne(working, w) })
	})
}

func (r *runner) clearOne(working context.Context, w rendezvous.Worker) {
	st := r.links.Standings()[w.Name]
	ok := st.Link != nil && fleet.Same(st.Worker, w) && st.Link.End(working, true, clearGrace) == nil
	r.absent.Cleared(w, ok)
	r.links.Nudge()
}
