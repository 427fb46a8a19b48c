//go:build linux

package launch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/musterhq/muster/agent/archive"
	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/command"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/agent/launch/export"
	"github.com/musterhq/muster/agent/launch/files"
	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/headway"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/launch/plan"
	"github.com/musterhq/muster/agent/launch/preflight"
	"github.com/musterhq/muster/agent/launch/record"
	"github.com/musterhq/muster/agent/launch/report"

	"github.com/musterhq/muster/agent/launch/show"
	"github.com/musterhq/muster/agent/launch/supervise"
	"github.com/musterhq/muster/agent/launch/tally"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/agent/launch/wait"
	"github.com/musterhq/muster/agent/retry"
	"github.com/musterhq/muster/agent/retry/rules"
	"github.com/musterhq/muster/agent/tracecontext"
	"github.com/musterhq/muster/exec/build"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous"
)

// runner is one call of Run.
type runner struct {
	cfg        config.Config
	tally      *tally.Tally
	links      *fleet.Links
	fleet      pool
	membership membership
	wg         sync.WaitGroup
	broker     *service // nil: it does not serve yet
	ports      *plan.Ports
	account    retry.Account
	rules      *rules.Set // of account
	absent     *supervise.Absent
	begun      time.Time           // when the first attempt's processes were started
	shot       rendezvous.Snapshot // the latest snapshot of the pods
	warned     map[string]bool     // sentences that have been printed
	fellBack   bool                // the user was told that NCCL fell back to sockets

	means
	outcome
	passing

	checks preflight.Preflight
	seats  *rendezvous.Seats // of a run with spares; nil: no spares
}

// means holds what a run works with.
type means struct {
	parts   Parts
	streams console.Streams
	log     *slog.Logger
	voice   *console.Voice
	signals chan os.Signal
	reaper  *reap.Reaper
	agent   string
	id      string // of this run; marks its processes
	place   files.Place
	record  *record.Log       // of events; nil: none is kept
	headway *headway.Reporter // nil: no server takes progress
	// exporter gets the events for metrics and traces; nil: nobody asked for them.
	exporter *export.Exporter
	trace    tracecontext.Run
	resizes  *fleet.Resizes
	// container is the launcher's own in its pod; "": unknown, or there is no pod.
	container string
}

// outcome holds the results of a run.
type outcome struct {
	report     report.Report
	verdict    verdict.Verdict
	spoiled    console.Loss // results that could not be written
	lostOutput console.Loss // the command's output that could not be written
	hurry      bool         // a signal told us to stop, or nothing was started on the workers
	silent     map[string]bool
	// epilogue holds the last lines of a process that failed, for the termination message.
	epilogue string
}

// passing holds the input and output of a command in the launcher.
type passing struct {
	meter *console.Meter // nil: no --metric
	input console.Input
	tees  console.Tees // of a command in the launcher; none: it has our own descriptors
	// archive has the output of processes under --output=dir=PATH; nil: it goes to our own descriptors.
	archive *archive.Writer
	kept    kept
}

// pool holds the workers of a run: the pods of a cluster, or processes on this machine. It opens
// links to them.
type pool interface {
	// Gather waits until every worker has answered, and returns the workers ranked.
	Gather(working context.Context) ([]rendezvous.Worker, error)
	// Replace waits until lost workers are replaced, and Reassemble until an elastic run has enough
	// workers. Both return all workers.
	Replace(ctx, working context.Context, v fleet.Vacancies) ([]rendezvous.Worker, error)
	Reassemble(ctx, working context.Context, v fleet.Vacancies) ([]rendezvous.Worker, error)
	// Ready opens links to workers that have become ready, and returns the workers that can take part
	// in an elastic run now, or be spares.
	Ready(working context.Context) []rendezvous.Worker
	// Pods returns the channel of the pod watch; nil means that there is none. Hear takes a
	// snapshot that the caller has received from it, and Seen returns the latest snapshot of a
	// wait.
	Pods() <-chan rendezvous.Snapshot
	Hear(shot rendezvous.Snapshot)
	Seen() rendezvous.Snapshot
	// StatusWait returns how long the pods' status may take to explain a lost link; 0 means that it
	// never does.
	StatusWait() time.Duration
	// Agent returns the path of the agent on the workers. ByHand returns the line that a user types
	// to run a command on a worker.
	Agent() string
	ByHand(worker, command string) string
	// OneMachine reports whether the workers are processes on the launcher's machine: they share its
	// files, memory and limits.
	OneMachine() bool
	// Depart records that a worker was told to stop from outside.
	Depart(worker string)
	// Rehearse starts the faults to rehearse, until ctx ends.
	Rehearse(ctx context.Context)
	// Release announces that the workers are about to be told that the job is over. Sweep then ends
	// what is left of them.
	Release()
	Sweep(ctx context.Context) error
}

// Run runs `agent run`. The code is the process's exit code. An error is a *failure.Failure with
// the same code; it says why the command was not run or not judged. The verdict has already been
// printed.
func Run(ctx context.Context, cfg config.Config, parts Parts, streams console.Streams, log *slog.Logger) (code int, err error) {
	err = cfg.Validate()
	r := &runner{cfg: cfg, means: means{parts: parts, streams: streams, log: log, id: command.NewRunID(), voice: &console.Voice{Out: streams.Err, Quiet: cfg.Quiet, JSON: cfg.JSONLines()}, signals: make(chan os.Signal, 16), reaper: reap.New(), resizes: fleet.NewResizes()}, tally: tally.New(), warned: map[string]bool{}, absent: supervise.NewAbsent()}
	r.membership = parts.members(r)
	if err == nil && cfg.DryRun {
		return 0, show.DryRun(ctx, cfg, parts.Site, streams.Out)
	}
	if err == nil {
		if err = checkOutfiles(cfg); err != nil {
			cfg.Report, cfg.Events = "", "" // it may be the file that cannot be written
		}
	}
	if err == nil {
		r.rules, err = cfg.Rules()
	}
	if err == nil {
		release := r.hold(ctx)
		defer func() {
			release()
			code, _ = r.settleCode(code, "") // the last messages may have been lost
		}()
		err = r.run(ctx)
	}
	code, why := r.verdict.Code, r.verdict.Why
	if err != nil {
		code, why = failure.CodeOf(err), err.Error()
	}
	r.endArchive(code, why) // unless the last line has already been printed
	r.endUpload()
	code, why = r.settleCode(code, why)
	r.endRecord(cfg.Events, code, why)
	reported := ""
	if cfg.Report != "" {
		r.report.Exit, r.report.Why = code, why
		save := r.report.Save
		if report.IsSameFile(cfg.Report, cfg.TerminationLog) {
			save = r.report.SaveMessage
		}
		if serr := save(cfg.Report); serr != nil {
			r.unwritten(serr)
		} else {
			reported = cfg.Report
		}
	}
	code, why = r.settleCode(code, why)
	if report.IsSameFile(reported, cfg.TerminationLog) {
		return code, err // the user wants the report as the termination message
	}
	if werr := r.report.LastWords(cfg.TerminationLog, code, why, r.epilogue); werr != nil {
		log.Warn("cannot write the termination message", "error", werr)
	}
	return code, err
}

// run goes from the workers to the verdict. Everything that it started has ended when it returns.
func (r *runner) run(ctx context.Context) (err error) {
	if r.agent, err = files.AgentPath(); err != nil {
		return err
	}
	if r.place, err = files.Find(r.cfg, r.parts.Ground); err != nil {
		return err
	}
	defer r.place.Close()
	if err := r.findKept(ctx); err != nil {
		return err
	}
	r.beginTrace()
	r.beginRecord()

	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		r.teardown(working)
		r.place.Retire()
		stop()
		r.close()
	}()
	began := time.Now()
	workers, err := r.gather(ctx, working)
	r.report.WaitMS = time.Since(began).Milliseconds()
	r.report.TookPart(workers)
	if err != nil {
		r.hurry = true
		return err
	}
	return r.repeat(ctx, working, workers)
}

// gather starts or finds the workers and waits for them. Links live in working, and the wait lives
// in ctx.
func (r *runner) gather(ctx, working context.Context) ([]rendezvous.Worker, error) {
	if r.cfg.Spares > 0 {
		r.seats = rendezvous.NewSeats(r.cfg.Most())
	}
	if err := r.parts.open(r, ctx, working); err != nil {
		return nil, err
	}
	workers, err := r.fleet.Gather(working)
	r.shot = r.fleet.Seen()
	if err == nil {
		r.seat(0, workers, nil, time.Now())
		r.record.Note(event.AllLinked, "", len(workers))
	}
	return workers, err
}

// findCluster makes the fleet of a cluster.
func (r *runner) findCluster(ctx, working context.Context) error {
	byNetwork, err := fleet.NewNetwork(r.cfg)
	if err != nil {
		return err
	}
	k, err := fleet.NewKube(r.cfg, r.agent, build.Version())
	if err != nil {
		return err
	}
	k.LogTo(r.log)
	r.cfg = r.cfg.WithNamespace(k.Namespace)
	starting, stop := r.untilSignal(ctx)
	limited, cancel := wait.Within(starting, r.cfg.Timeout, errors.New("--timeout has passed"))
	epoch, err := k.Epoch(limited, r.cfg, command.NewRunID())
	cancel()
	stop()
	if told := toldIn(starting); told != nil {
		return told
	}
	if err != nil {
		return err
	}
	if r.cfg, err = r.cfg.WithPodGrace(k.Grace); err != nil {
		return err
	}
	r.container = k.Container
	hello := r.hello(epoch)
	var ways fleet.Dialers = k
	gate := k.Gate
	if byNetwork != nil {
		if err := byNetwork.Over(k, k.Gate, hello, r.log); err != nil {
			return err
		}
		ways, gate = byNetwork, nil
	}
	r.links = fleet.NewLinks(ways, gate, hello, r.cfg.Lease, r.log, r.tally)
	r.links.Voice, r.links.Record = r.voice, r.record
	r.exporter.Measure("output", r.links.Sample)
	c := fleet.NewCluster(fleet.Cluster{Config: r.cfg, Kube: k, Network: byNetwork, Links: r.links, Record: r.record, Fit: r.fit, Barred: r.absent.Barred, Voice: r.voice, Stderr: r.streams.Err, Signals: r.signals, Seats: r.seats})
	r.wg.Go(func() { c.Watch(working) })
	r.fleet = c
	return nil
}

// startFakes makes the fleet of fake workers.
func (r *runner) startFakes(_, _ context.Context) error {
	hello := r.hello(wire.Epoch{Created: time.Now().UnixNano(), UID: r.id})
	f, err := fleet.StartFakes(r.reaper, r.cfg, hello, fleet.FakePlace{Dir: r.place.Dir, Agent: r.agent, Run: r.id}, r.record)
	if err != nil {
		return err
	}
	r.links = fleet.NewLinks(f, nil, hello, fleet.FakeLease(r.cfg), r.log, r.tally)
	r.links.Voice, r.links.Record = r.voice, r.record
	r.exporter.Measure("output", r.links.Sample)
	f.Links, f.Voice, f.Signals, f.Seats, f.Barred = r.links, r.voice, r.signals, r.seats, r.absent.Barred
	r.fleet = f
	return nil
}

func (r *runner) hello(epoch wire.Epoch) wire.HelloRecord {
	h := wire.HelloRecord{Version: build.Version(), Job: r.cfg.Job, Epoch: epoch, RshAgent: r.agent,
		FrozenMillis: r.cfg.FrozenAfter.Milliseconds(), Ask: r.cfg.Asked(), NoStacks: r.cfg.Stacks == config.StacksNever}
	if r.cfg.Given("grace") { // the default is shorter than what workers have
		h.GraceMillis = r.cfg.Grace.Milliseconds()
	}
	return h
}

// teardown tells the workers that the job is over and waits for them.
func (r *runner) teardown(working context.Context) {
	if r.links == nil {
		return
	}
	r.fleet.Release()
	if r.links.Superseded() {
		return // another launcher has taken over the workers
	}
	grace := min(r.cfg.Grace, supervise.LostGrace)
	wait := endWait
	if r.hurry {
		wait = urgentWait
	}
	longest := grace
	if r.cfg.Given("grace") {
		longest = r.cfg.Grace // what a failed rank has left behind gets all of it
	}
	telling, cancel := context.WithTimeoutCause(working, longest+wait, errors.New("no answer in time"))
	defer cancel()
	r.wg.Go(func() { r.hurryUp(telling, cancel, longest+urgentWait) })
	if err := r.links.End(telling, r.cfg.KeepWorkers, grace, r.silent, r.tally.IsLeaving); err != nil {
		r.voice.Warn("%s", phrase.OneLine(err))
		r.voice.Hint(endsAfterLease(r.cfg))
	}
}

// endsAfterLease says what happens to a worker that was not told of the end.
func endsAfterLease(cfg config.Config) string {
	lease := cfg.Lease
	if cfg.IsFake() {
		lease = fleet.FakeLease(cfg)
	}
	return fmt.Sprintf("a worker without contact to the launcher ends its processes after the lease (%s)", phrase.Brief(lease))
}

// How long workers may take, beyond the grace, to confirm the end. A worker that does not hear of
// it keeps its devices for a lease, so the launcher waits until a restarted API server is back. By
// default, deleting a pod gives it 30 s from TERM to KILL.
const (
	endWait    = 30 * time.Second
	urgentWait = 10 * time.Second
)

// close waits for everything of this run.
func (r *runner) close() {
	if r.links != nil {
		r.links.Close()
		if err := r.fleet.Sweep(context.Background()); err != nil {
			r.log.Warn("processes of fake workers are still running", "error", err)
		}
	}
	r.wg.Wait()
}
