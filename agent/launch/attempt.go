//go:build linux

package launch

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/musterhq/muster/agent/group"
	"github.com/musterhq/muster/agent/launch/command"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/agent/launch/files"
	"github.com/musterhq/muster/agent/launch/hang"
	"github.com/musterhq/muster/agent/launch/network"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/launch/plan"
	"github.com/musterhq/muster/agent/launch/stall"
	"github.com/musterhq/muster/agent/launch/supervise"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/agent/retry"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/proc"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous"
)

// attempt is one try of the command, or of the group.
type attempt struct {
	number   int
	port     int // first port of the attempt
	workers  []rendezvous.Worker
	plan     plan.Plan
	made     plan.Situation   // what the plan was made from
	command  *command.Command // nil: a group, or the plan could not be carried out
	watcher  *supervise.Supervisor
	hang     *hang.Watch    // nil: no hang watch
	progress *stall.Watch   // nil: there are no rules for output lines
	words    *console.Words // nil: the command's messages are not read
	network  *network.Watch // nil: the run did not ask for RDMA
	began    time.Time
	ran      time.Duration
	evidence verdict.Evidence

	grouped

	verdict verdict.Verdict
	said    bool   // the user has been told all that the verdict says
	saved   lookup // what it has saved, if it has failed
	unready
}

// unready is why an attempt was not started.
type unready struct {
	unfit  []string // workers that have failed a check, so that the attempt was not started; nil: it was
	hint   string   // for the verdict of such an attempt
	failed int      // workers and spares that have failed its preflight
}

// grouped is the part of an attempt whose processes run on the workers.
type grouped struct {
	group   *group.Group                              // nil: the command runs in the launcher
	live    *atomic.Int64                             // number of processes of the group that have not ended
	process func(plan.Process) (group.Process, error) // makes a process of the group, with its output
	result  group.Result                              // result of a group
}

// attempt plans the command, runs it here or on the workers, and judges its end.
func (r *runner) attempt(ctx, working context.Context, number, port int, workers []rendezvous.Worker) (*attempt, error) {
	r.epilogue = ""
	a := &attempt{number: number, port: port, workers: workers, began: time.Now(), hang: r.watchHang()}
	for ready := false; !ready; {
		if err := r.prearrange(working, a); err != nil {
			return nil, err
		}
		var err error
		if ready, err = r.preflight(ctx, working, a); err != nil {
			return nil, err
		}
		if a.unfit != nil {
			break
		}
	}
	r.report.TookPart(a.workers)
	if a.unfit != nil {
		return a, nil
	}
	if !r.fellBack { // once in a run
		a.network = network.New(a.workers, r.cfg.RequireRDMA)
	}
	var err error
	if len(a.plan.Processes) > 0 {
		r.warn(a.plan.Warnings)
		err = r.runGroup(ctx, working, a, a.made.UserEnv())
	} else {
		r.lacksRshAgent(a)
		err = r.runCommand(ctx, working, a)
	}
	a.ran = time.Since(a.began)
	r.report.RunMS = time.Since(r.begun).Milliseconds()
	return a, err
}

// prearrange plans the attempt with its workers, and writes and serves the plan.
func (r *runner) prearrange(working context.Context, a *attempt) error {
	a.workers = plan.Order(r.cfg, a.workers)
	a.made = plan.Situation{Config: r.cfg, Ranked: a.workers, Welcomes: r.welcomes(), Files: r.place.Files,
		Dir: r.place.Dir, Broker: r.place.Socket, Agent: r.agent, Env: os.Environ(), Attempt: a.number, Trace: r.trace.Attempt(a.number), Port: a.port, Plugins: command.Plugins(r.cfg, command.NewStarter(r.reaper), r.log)}
	var err error
	if a.plan, err = r.place.Plan(a.made); err != nil {
		return err
	}
	if err := r.place.Write(a.plan.All(), r.agent); err != nil {
		return console.Unwritable(err)
	}
	if said := r.place.Sentence(a.plan, len(a.workers)); said != "" && a.number == 0 && !r.warned[said] {
		r.warned[said] = true
		r.voice.Say("%s", said)
	}
	if err := r.place.Note(a.plan); err != nil {
		return fmt.Errorf("write plan: %w", err)
	}
	r.serve(working, a.plan, a.hang.LabelOf)
	return nil
}

// warn prints each sentence once in a run.
func (r *runner) warn(sentences []string) {
	for _, one := range sentences {
		if !r.warned[one] {
			r.warned[one] = true
			r.voice.Warn("%s", one)
		}
	}
}

// supervise starts to watch the attempt's job. In the first attempt it also starts the rehearsed
// faults.
func (r *runner) supervise(working context.Context, a *attempt, name string, job supervise.Running) *supervise.Supervisor {
	a.began = time.Now()
	s := r.observer(a.workers)
	s.Command, s.Name, s.Hang, s.Progress, s.Network = job, name, a.hang, a.progress, a.network
	s.Spare, s.Slow, s.Resizes = r.hearPods(working), supervise.NewSlow(r.wg.Go, r.places), r.resizes
	a.watcher = s
	r.broker.follow(a.progress)
	r.recordStart(a.workers)
	r.membership.enroll(working, a)
	if r.begun.IsZero() {
		r.begun = a.began
		r.fleet.Rehearse(working)
	}
	r.wg.Go(func() { proc.Settle(working) })
	return s
}

// observer returns a supervisor of workers without a command.
func (r *runner) observer(workers []rendezvous.Worker) *supervise.Supervisor {
	return supervise.New(supervise.Config{Settings: r.cfg, Links: r.links, Tally: r.tally, Voice: r.voice, Record: r.record, Signals: r.signals, Workers: workers, Pods: r.fleet.Pods(), Seen: r.shot,
		StatusWait: r.fleet.StatusWait(), ByHand: r.fleet.ByHand,
		Trouble: func(sentence string) { r.place.Trouble(r.voice, sentence, time.Time{}) }})
}

// applyRules applies the rules for output lines to an attempt with this number of ranks; 0: unknown.
func (r *runner) applyRules(a *attempt, ranks int) {
	a.progress = stall.New(r.cfg.Progress, ranks, r.cfg.StragglerAfter)
	r.exporter.Measure("progress", a.progress.Sample)
}

// runCommand runs the command in the launcher and judges its end.
func (r *runner) runCommand(ctx, working context.Context, a *attempt) error {
	env, kept := a.plan.Merge(plan.WithAssignments(os.Environ(), r.cfg.Env))
	r.warn(append(a.plan.Warnings, kept...))
	if r.cfg.JSONLines() { // agent rsh writes to the same stream
		env = plan.WithAssignments(env, []string{names.EnvLogFormat + "=" + names.LogJSON})
	}
	argv, err := r.commandLine(ctx, a.plan, env)
	if err != nil {
		return err
	}
	if argv, env, err = files.WithShims(r.cfg.Shims || a.plan.Shims, r.place.Dir, r.agent, argv, env); err != nil {
		return err
	}
	if a.number == 0 {
		r.input = console.NewInput(r.streams.In)
	} else {
		r.input.Rewind(r.voice)
	}
	r.applyRules(a, 0)
	a.words = r.listen()
	a.command, err = r.teed(a, func(s console.Streams) (*command.Command, error) {
		return command.Start(r.reaper, command.Spec{Argv: argv, Env: env, Dir: r.cfg.Chdir, Streams: s, Run: r.id, OwnSlots: r.cfg.LauncherSlots, Links: r.links, Workers: len(a.workers)})
	})
	if err != nil {
		return err
	}
	defer r.headway.Follow(working, a.progress)()
	a.hang.Over(a.command.Scene)
	s := r.supervise(working, a, a.command.Name(), a.command)
	s.Alone = r.watchAlone(argv, a.command)
	if a.plan.Own == nil { // workers do not know ranks of the launcher
		s.Living = supervise.NewLiving(r.wg.Go, r.living)
	}
	s.Rest = supervise.NewLeftover(r.cfg.ExitWithin)
	r.tally.HearDone(s.Rest.NoteDone)
	defer r.tally.HearDone(nil)
	s.Bystanders = supervise.NewBystanders(r.cfg, r.wg.Go, r.links.Askers, a.hang, r.tally)
	defer r.tally.HearFailed(nil)
	if r.cfg.ExitWithin > 0 && !s.Reporting() {
		r.voice.Warn("--exit-within=%s has no effect: the agent of a worker is too old to report when ranks end", phrase.Brief(r.cfg.ExitWithin))
	}
	workers := len(a.workers) // in an elastic run, others may be there at the end
	s.Watch(ctx)
	r.noteStopped(a, a.command.Stopped())
	r.noteStragglers(a)
	status := a.command.Status()
	r.tally.CommandEnded()
	s.Aftermath(ctx, status.Code != 0)
	s.NotePreempted()
	r.tally.Conclude(status.Code != 0 && s.Reporting())
	r.hurry, r.silent, r.shot = s.Told() != 0, s.Silent(), s.Seen()
	e := verdict.Evidence{Command: verdict.Command{Name: s.Name, Rule: r.cfg.Rule(), Code: status.Code, Signal: int(status.Signal), Inquiry: config.IsInquiry(r.cfg.Command), Remote: r.cfg.IsRemote()}, Told: s.Told(), Ended: s.Asked(), Workers: workers}
	s.Alone.Testify(&e)
	r.tally.Testify(&e)
	r.tees.Drain(r.voice)
	if e.Own = a.plan.Own != nil; r.judgesWords() {
		e.Words = wordsOf(a.words.Ends(), a.plan.Hosts)
	}
	s.Pardon(&e)
	if e.Rule == verdict.ExitScript {
		e = e.Latest()
	}
	a.evidence, a.verdict = e, verdict.Judge(e)
	r.tellBystanders(a)
	r.lookAtOutput(status.Code > 128)
	a.verdict, a.said = r.cutShort(a.verdict, e.Told, len(e.Lost))
	r.noteHang(a)
	return nil
}

// pronounce prints the verdict of the last attempt.
func (r *runner) pronounce(a *attempt, d retry.Decision) {
	r.verdict, r.report.Exit = a.verdict, a.verdict.Code
	switch {
	case a.command != nil && !a.said:
		r.pronounceCommand(a)
	case a.verdict.Why != "" && !a.said && !r.lossSaid(a.evidence, a.verdict):
		r.voice.Warn("%s", a.verdict.Why)
		r.voice.Hint(a.hint)
	}
	if d.Sentence != "" {
		r.voice.Warn("%s", d.Sentence)
		r.voice.Hint(d.Hint)
	}
	if d.Code != 0 {
		r.report.Exit = d.Code
		r.verdict = verdict.Verdict{Code: d.Code, Why: strings.TrimSuffix(d.Sentence+"; the last attempt: "+a.verdict.Why, "; the last attempt: ")}
	}
	r.conclude()
}

func (r *runner) pronounceCommand(a *attempt) {
	e, v := a.evidence, a.verdict
	if v.Why != "" {
		if !r.lossSaid(e, v) {
			r.voice.Warn("%s", v.Why)
		}
		r.voice.Hint(r.advice(a))
	}
	if r.alone(e) {
		r.voice.Warn("%s ran only in the launcher, and on none of the %s", e.Name, phrase.Count(e.Workers, "worker"))
		name := r.meantFor(e)
		if name == "" {
			name = "torch, jax, tensorflow, plain..."
		}
		r.voice.Hint("--framework=" + name + " starts it on each worker; --exit=command accepts a run in the launcher only")
	}
}

// conclude writes the metrics and prints the last line.
func (r *runner) conclude() {
	r.report.Count(r.tally.Figures(), r.record.Links())
	if err := r.meter.Report(r.voice); err != nil {
		r.unwritten(err)
	}
	r.endArchive(r.report.Exit, r.verdict.Why)
	if code, why := r.settleCode(r.report.Exit, r.verdict.Why); code != r.report.Exit {
		r.verdict, r.report.Exit = verdict.Verdict{Code: code, Why: why}, code
	}
	if r.report.RunMS >= goodputShown.Milliseconds() {
		r.record.Sync()
		r.report.Goodput = r.goodput()
	}
	r.voice.Say("%s", r.report.Summary(r.cfg.Verbose))
}

// alone reports whether a Python script ran only in the launcher, probably by mistake. Its exit
// code stays 0.
func (r *runner) alone(e verdict.Evidence) bool {
	script := strings.HasPrefix(e.Name, "python") || strings.HasPrefix(e.Name, "pypy")
	return script && r.cfg.Auto() && r.cfg.Exit == verdict.ExitAuto && e.Code == 0 && e.Group == "" && e.Opened == 0 && e.Workers > 0
}

// lossSaid reports whether the verdict says only that a worker was lost, which was printed when it
// happened.
func (r *runner) lossSaid(e verdict.Evidence, v verdict.Verdict) bool {
	return len(e.Lost) == 1 && v.Why == fmt.Sprintf("worker %s lost: %s", e.Lost[0].Worker, e.Lost[0].Cause)
}

func (r *runner) welcomes() map[string]wire.WelcomeRecord {
	all := map[string]wire.WelcomeRecord{}
	for name, s := range r.links.Standings() {
		if w, ok := s.Link.Welcome(); ok {
			all[name] = w
		}
	}
	return all
}

// serve answers the rsh agents until working ends, from now on for this plan. label returns what a
// session runs.
func (r *runner) serve(working context.Context, planned plan.Plan, label func(session string) string) {
	if r.broker != nil {
		r.broker.set(planned, r.links.Standings(), label)
		return
	}
	r.broker = &service{tally: r.tally}
	r.broker.set(planned, r.links.Standings(), label)
	server := newBroker(r.broker, r.links, r.cfg, r.voice, r.id)
	server.Doctor, server.Top = r.doctor, r.broker.topOf(r.links, r.fleet.OneMachine())
	listener := r.place.Take()
	r.wg.Go(func() {
		if err := server.Serve(working, listener); err != nil {
			r.voice.Warn("serve rsh agents: %v", err)
		}
	})
}

// watchHang returns the watch over an attempt. With --hang-after=0 the watch only passes output on,
// and detects no hang.
func (r *runner) watchHang() *hang.Watch {
	w := hang.NewWatch(r.cfg.HangAfter, r.links.Askers)
	w.Wary, w.Unstacked = !r.cfg.Given("hang-after"), r.cfg.Stacks == config.StacksNever
	return w
}
