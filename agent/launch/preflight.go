//go:build linux

package launch

import (
	"cmp"
	"context"
	"encoding/json"
	"hash/fnv"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/musterhq/muster/agent/check"
	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/plan"
	"github.com/musterhq/muster/agent/launch/preflight"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/exec/build"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/survey"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous"
)

// preflight checks the workers of an attempt that have not been checked yet, and prints what is
// wrong. It returns true if the ranks may start. With --preflight=fail, spares replace workers that
// have failed, and the caller tries again. Without enough spares a failed check ends the attempt
// before it starts. A signal ends the checks and the run.
func (r *runner) preflight(ctx, working context.Context, a *attempt) (ready bool, err error) {
	if r.cfg.Preflight == preflight.Off {
		return true, nil
	}
	began := time.Now()
	r.record.Note(event.CheckStarted, "", 0)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	looked := make(chan []check.Finding, 1)
	r.wg.Go(func() {
		q := r.question(ctx, a.plan, a.failed == 0)
		q.Group, q.Regroup = r.groupCheck(a), a.failed > 0
		if r.cfg.Preflight != preflight.Fail {
			q.Ask.Command = "" // the start of the ranks says what is missing
		}
		looked <- r.checks.Look(ctx, q)
	})
	var found []check.Finding
	for waiting := true; waiting; {
		select {
		case found = <-looked:
			waiting = false
		case sig := <-r.signals:
			if err := fleet.ToldWhileWaiting(sig); err != nil {
				r.hurry = true
				return false, failure.New(failure.CodeOf(err), "", "told to stop by %v while the workers were checked", sig)
			}
		}
	}
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	r.report.Checked(found, time.Since(began))
	r.recordChecked(found)
	sentences := preflight.Sentences(found)
	if r.cfg.Preflight == preflight.Fail && check.Worst(found) == check.Fail {
		if done, err := r.substitute(ctx, working, a, found); done || err != nil {
			return false, err
		}
		r.sayAll(sentences[1:])
		r.unfit(a, sentences[0], check.Bad(found))
		return false, nil
	}
	r.sayAll(sentences)
	return true, nil
}

// unfit judges an attempt that was not started. bad are the workers to blame.
func (r *runner) unfit(a *attempt, first preflight.Sentence, bad []string) {
	s := r.observer(a.workers)
	s.Group = true
	r.hurry, r.shot = true, s.Seen()
	a.watcher, a.unfit, a.hint = s, append([]string{}, bad...), first.Hint
	a.verdict = verdict.Verdict{Code: names.ExitHopeless, Why: first.Text}
}

func (r *runner) sayAll(sentences []preflight.Sentence) {
	for _, s := range sentences {
		r.voice.Warn("%s", s.Text)
		r.voice.Hint(s.Hint)
	}
}

// doctor checks all workers of the current attempt again, for `agent doctor`. It returns each
// finding as JSON.
func (r *runner) doctor(ctx context.Context) (lines []string) {
	q := r.question(ctx, r.broker.latest(), true)
	q.Again, q.Command = true, ""
	found := r.checks.Look(ctx, q)
	if r.cfg.Check != "" { // it may need the devices that the ranks use
		found = append(found, check.NotChecked("--preflight-command could disturb the ranks", "command")...)
	}
	for _, f := range found {
		text, err := json.Marshal(f)
		if err != nil {
			continue // impossible: a finding has only strings
		}
		lines = append(lines, string(text))
	}
	return lines
}

// question says what to check: the workers of a plan, perhaps spares, and what its command needs.
func (r *runner) question(ctx context.Context, planned plan.Plan, spares bool) preflight.Question {
	ranks := map[string]int{}
	for _, p := range planned.Processes {
		ranks[planned.Hosts[p.Worker].Name]++
	}
	mpi := len(planned.Processes) == 0 && names.IsMPIRun(r.cfg.Command[0])
	job := check.Job{Framework: r.cfg.FrameworkName(), MPI: mpi, Agent: build.Version(), Ranks: len(planned.Processes)}
	job.SharesMemory, job.Packages = mpi || check.SharesMemory(job.Framework), check.PackagesOf(job.Framework)
	ask := wire.AskFactsRecord{Dir: r.cfg.Chdir, Packages: job.Packages, Versions: !r.fleet.OneMachine()} // one machine has one version of each
	if len(planned.Processes) > 0 {
		first := planned.Processes[0]
		ask.Command = first.Argv[0]
		if check.AsksForNames(job.Framework) && !r.fleet.OneMachine() {
			job.Meet = planned.Hosts[first.Worker].IP
			ask.Address = job.Meet
		}
	}
	if mpi {
		job.LauncherMPI = survey.Take(ctx, survey.Where{Root: "/", Env: os.Environ()}, wire.AskFactsRecord{Versions: true}).Versions["MPI library"]
		for _, h := range planned.Hosts {
			ranks[h.Name] = h.Slots
			job.Ranks += h.Slots
		}
	}
	id := fnv.New64a()
	id.Write([]byte(r.id)) // never fails
	q := preflight.Question{Job: job, Ask: ask, Seed: id.Sum64(), Command: r.cfg.Check, Limit: r.cfg.CheckTime}
	standings, welcomes := r.links.Standings(), r.welcomes()
	for _, name := range r.toCheck(planned, spares) {
		s, ok := standings[name]
		if !ok {
			continue
		}
		w, welcome := s.Worker, welcomes[name]
		one := check.Worker{Name: w.Name, Node: w.Node, Ranks: ranks[w.Name], GPUs: w.Devices, RDMA: w.RDMA, Agent: welcome.Version, Fake: r.fleet.OneMachine()}
		q.Subjects = append(q.Subjects, preflight.Subject{Worker: one, ID: cmp.Or(welcome.Instance, w.UID), Address: addressOf(w, welcome, r.cfg.Interface), Asker: s.Link, Run: runnerOn(s.Link, r.cfg)})
	}
	return q
}

// toCheck returns the names of the workers of a plan and, if wanted, of the spares that answer.
func (r *runner) toCheck(planned plan.Plan, spares bool) (all []string) {
	for _, h := range planned.Hosts {
		all = append(all, h.Name)
	}
	standings := r.links.Standings()
	for _, name := range slices.Sorted(maps.Keys(r.links.Spares())) {
		if s := standings[name]; spares && s.Link != nil && s.Err == nil && s.State.Linked {
			all = append(all, name)
		}
	}
	return all
}

// addressOf returns the address at which a worker listens for others: of the interface that the
// user selects, else its own.
func addressOf(w rendezvous.Worker, welcome wire.WelcomeRecord, which string) string {
	if which == "" {
		return w.IP
	}
	name, ok := plan.InterfaceOf(welcome.Interfaces, which)
	if i := slices.IndexFunc(welcome.Interfaces, func(one wire.Interface) bool { return one.Name == name }); ok && i >= 0 && len(welcome.Interfaces[i].Addresses) > 0 {
		return welcome.Interfaces[i].Addresses[0]
	}
	return w.IP
}
