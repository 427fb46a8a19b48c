//go:build linux

package launch

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/musterhq/muster/agent/launch/plan"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/rendezvous"
)

// enroll gives the attempt's supervisor its roster, where the run is elastic.
func (r *runner) enroll(working context.Context, a *attempt) {
	if !r.cfg.Elastic() {
		return
	}
	a.made.Store = a.workers[0].Name
	one := &roster{left: map[string]bool{}, hear: r.fleet.Hear, members: rendezvous.Members{Least: r.cfg.LeastWorkers, Most: r.cfg.Most()}, absent: &r.absent,
		needed: len(a.plan.Processes) > 0 || names.IsMPIRun(r.cfg.Command[0]), takes: a.plan.Elastic}
	one.changed = func(c rendezvous.Change) string { return r.adapt(a, one, c) }
	one.members.Look(a.workers, nil)
	one.ready = func() []rendezvous.Worker { return r.fleet.Ready(working) }
	a.watcher.members = elastic{a.watcher, one}
}

// adapt has everybody told of a change of the workers. It says why the attempt has
// to begin anew, where it does not get over the change by itself.
func (r *runner) adapt(a *attempt, who *roster, c rendezvous.Change) (anew string) {
	present := who.members.Present()
	a.workers = who.members.All()
	r.report.TookPart(present)
	planned, err := r.rewrite(a, present)
	if err != nil {
		r.voice.Warn("the workers have changed, and it could not be told: %v", err)
		planned = a.plan
	}
	for _, w := range slices.Concat(c.Joined, c.Back) {
		r.tally.Back(w.Name)
	}
	a.progress.Again()
	switch {
	case who.fault, !who.needed:
		return ""
	case !who.takes, len(c.Gone)+len(c.Leaving) > 0:
		return regroupFor(c)
	}
	a.plan = planned
	for _, w := range c.Joined {
		if err := r.enlist(a, w); err != nil {
			r.voice.Warn("worker %s joined, and nothing could be started there: %v", w.Name, err)
		}
	}
	return ""
}

// regroupFor says what a change was; "" where the loss is the command's to judge.
func regroupFor(c rendezvous.Change) string {
	for _, loss := range slices.Concat(c.Leaving, c.Gone) {
		if loss.Leaving || taken(loss.Reason) {
			return "worker " + loss.Worker.Name + " left"
		}
	}
	for _, w := range slices.Concat(c.Joined, c.Back) {
		return "worker " + w.Name + " joined"
	}
	return ""
}

// rewrite brings plan, hostfiles and broker up to date, and returns the plan. The
// attempt's own stays that of the processes that it has.
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
		m, err := a.member(p)
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

// endedAnew: we ended the attempt because its workers have changed; what its command
// said to that, be it 0, does not count.
func (a *attempt) endedAnew() bool { return a.watcher.anew != "" && a.watcher.ending.asked }
