//go:build linux

package launch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous"
)

// runner is one call of Run.
type runner struct {
	cfg     Config
	streams Streams
	log     *slog.Logger
	voice   *voice
	tally   *tally
	meter   *meter // nil: no --metric
	signals chan os.Signal

	id     string // of this run; marks its processes
	agent  string
	place  place
	reaper *reap.Reaper
	links  *links
	feed   *feed  // nil: no cluster
	fakes  *fakes // nil: a cluster
	wg     sync.WaitGroup

	report  Report
	verdict Verdict
	hurry   bool // a signal told us to stop, or nothing was begun on the workers
	silent  map[string]bool
	// epilogue are the last lines of a process that failed, for the termination
	// message.
	epilogue string
}

// Run is `agent run`: the launcher's life. The code is the process's exit
// code; an error, a *Failure, says why the command was not run or not judged,
// and carries the same code. What the verdict has to say is said already.
func Run(ctx context.Context, cfg Config, streams Streams, log *slog.Logger) (int, error) {
	err := cfg.Validate()
	r := &runner{cfg: cfg, streams: streams, log: log, tally: newTally(), id: newRunID(),
		voice: &voice{w: streams.Err, quiet: cfg.Quiet}, signals: make(chan os.Signal, 16), reaper: reap.New()}
	r.cfg.starter, r.cfg.log = NewStarter(r.reaper), log
	if err == nil && cfg.DryRun {
		return 0, dryRun(ctx, cfg, streams.Out)
	}
	if err == nil {
		err = r.run(ctx)
	}
	code, why := r.verdict.Code, r.verdict.Why
	if err != nil {
		code, why = CodeOf(err), err.Error()
	}
	if werr := lastWords(cfg.TerminationLog, code, why, r.epilogue); werr != nil {
		log.Warn("no termination message", "error", werr)
	}
	if cfg.Report != "" {
		r.report.Exit, r.report.Why = code, why
		if serr := r.report.save(cfg.Report); serr != nil {
			r.voice.Warn("%v", serr)
		}
	}
	return code, err
}

// run goes from the workers to the verdict; whatever it started has ended when
// it returns.
func (r *runner) run(ctx context.Context) (err error) {
	// SIGPIPE must be caught: the default would end us, with everything left
	// behind, when nobody reads our stderr any more. Ignoring it instead would
	// be inherited by the command.
	signal.Notify(r.signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)
	defer signal.Stop(r.signals)
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)

	if r.agent, err = agentPath(); err != nil {
		return err
	}
	if r.place, err = findPlace(r.cfg); err != nil {
		return err
	}
	defer r.place.close()

	reaping, stopReaper := context.WithCancel(context.WithoutCancel(ctx))
	var reaper sync.WaitGroup
	reaper.Go(func() {
		if err := r.reaper.Run(reaping); err != nil {
			r.log.Error("reaper", "error", err)
		}
	})
	defer reaper.Wait()
	defer stopReaper()

	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		r.teardown(working)
		r.place.retire()
		stop()
		r.close()
	}()
	began := time.Now()
	workers, err := r.gather(ctx, working)
	r.report.WaitMS = time.Since(began).Milliseconds()
	r.report.Workers = len(workers)
	if err != nil {
		r.hurry = true
		return err
	}
	return r.launch(ctx, working, workers)
}

// gather starts or finds the workers and waits for them. Links live in
// working, the wait in ctx.
func (r *runner) gather(ctx, working context.Context) ([]rendezvous.Worker, error) {
	if r.cfg.IsFake() {
		return r.gatherFakes(working)
	}
	k, err := newKube(r.cfg, r.agent)
	if err != nil {
		return nil, err
	}
	r.cfg.Namespace = k.namespace
	starting, cancel := context.WithTimeoutCause(ctx, r.cfg.Timeout, errors.New("deadline passed"))
	defer cancel()
	epoch, err := k.epoch(starting, r.cfg)
	if err != nil {
		return nil, err
	}
	r.links = newLinks(k, k.gate, r.hello(epoch), r.cfg.Lease, r.log, r.tally)
	r.feed = newFeed()
	r.wg.Go(func() { r.feed.run(working, k.watch(r.cfg)) })
	w := &waiter{cfg: r.cfg, links: r.links, feed: r.feed, agent: k.agent, signals: r.signals,
		neighbours: k.neighbours, printer: newPrinter(r.streams.Err, r.cfg.Quiet)}
	w.board = rendezvous.New(r.cfg.Workers, r.cfg.HopelessAfter)
	w.board.Namespace, w.board.Selector = k.namespace, r.cfg.WorkerSelector()
	w.board.Containers = rendezvous.Containers{Flag: r.cfg.Container}
	return w.await(working)
}

func (r *runner) gatherFakes(working context.Context) ([]rendezvous.Worker, error) {
	fakes, err := startFakes(r.reaper, r.cfg, r.place.dir, r.agent, r.id)
	if err != nil {
		return nil, err
	}
	r.fakes = fakes
	epoch := wire.Epoch{Created: time.Now().UnixNano(), UID: r.id}
	r.links = newLinks(fakes, nil, r.hello(epoch), fakeLease(r.cfg), r.log, r.tally)
	return fakes.await(working, r.cfg, r.links, r.signals)
}

func (r *runner) hello(epoch wire.Epoch) wire.HelloRecord {
	return wire.HelloRecord{Version: shortVersion(), Job: r.cfg.Job, Epoch: epoch, RshAgent: r.agent,
		FrozenMillis: r.cfg.FrozenAfter.Milliseconds(), Ask: r.cfg.asked()}
}

// launch prepares the files and runs the command, here or on the workers.
func (r *runner) launch(ctx, working context.Context, workers []rendezvous.Worker) error {
	all := situation{cfg: r.cfg, ranked: workers, welcomes: r.welcomes(), paths: r.place.paths,
		dir: r.place.dir, broker: r.place.socket, agent: r.agent, env: os.Environ()}
	plan, err := makePlan(all)
	if err != nil {
		return err
	}
	if err := r.place.paths.write(plan.Hosts, r.agent); err != nil {
		return err
	}
	if err := r.place.note(plan); err != nil {
		return fmt.Errorf("write plan: %w", err)
	}
	r.serve(working, plan)
	r.meter = newMeter(r.cfg, inPod())
	if len(plan.Processes) > 0 {
		r.warn(plan.Warnings)
		return r.runGroup(ctx, working, workers, plan, all.userEnv())
	}
	return r.runCommand(ctx, working, workers, plan)
}

func (r *runner) warn(sentences []string) {
	for _, one := range sentences {
		r.voice.Warn("%s", one)
	}
}

// supervise watches over job, and begins the rehearsed faults.
func (r *runner) supervise(working context.Context, name string, job running, workers []rendezvous.Worker) *supervisor {
	s := &supervisor{cfg: r.cfg, cmd: job, name: name, links: r.links, tally: r.tally, voice: r.voice, signals: r.signals, started: workers}
	if r.feed != nil {
		s.pods = r.feed.pods
	}
	if r.fakes != nil {
		r.fakes.rehearse(working, r.voice.Say)
	}
	return s
}

// runCommand runs the command in the launcher and judges its end.
func (r *runner) runCommand(ctx, working context.Context, workers []rendezvous.Worker, plan Plan) error {
	env, kept := plan.merge(withAssignments(os.Environ(), r.cfg.Env))
	r.warn(append(plan.Warnings, kept...))
	argv, err := r.commandLine(ctx, plan, env)
	if err != nil {
		return err
	}
	r.cfg.Shims = r.cfg.Shims || plan.Shims
	if argv, env, err = withShims(r.cfg, r.place.dir, r.agent, argv, env); err != nil {
		return err
	}
	cmd, err := r.meter.start(r, func(s Streams) (*command, error) {
		return startCommand(r.reaper, argv, env, r.cfg.Chdir, s, r.id)
	})
	if err != nil {
		return err
	}
	began := time.Now()
	s := r.supervise(working, cmd.name, cmd, workers)
	s.watch(ctx)
	status := cmd.proc.Status()
	r.tally.commandEnded()
	r.report.RunMS = time.Since(began).Milliseconds()
	s.aftermath(ctx, status.Code != 0)
	r.tally.conclude(status.Code != 0 && s.reporting())
	r.tally.fill(&r.report)
	r.judge(s, status)
	if err := cmd.sweep(working, min(r.cfg.Grace, lostGrace)); err != nil {
		r.log.Warn("the command left something behind", "error", err)
	}
	r.meter.finish()
	return nil
}

// judge decides and says the verdict.
func (r *runner) judge(s *supervisor, status reap.Status) {
	r.hurry, r.silent = s.ending.told != 0, s.silent()
	e := Evidence{Name: s.name, Rule: r.cfg.Rule(), Code: status.Code, Signal: int(status.Signal), Told: s.ending.told, Ended: s.ended, Workers: len(s.started)}
	r.tally.testify(&e)
	r.verdict = Judge(e)
	r.report.Exit = r.verdict.Code
	if r.verdict.Why != "" {
		if !r.said(e, r.verdict) {
			r.voice.Warn("%s", r.verdict.Why)
		}
		r.voice.Hint(judgeHint(e, r.verdict))
	}
	if r.alone(e) {
		r.voice.Warn("%s ran in the launcher alone, and on none of the %s", e.Name, count(e.Workers, "worker"))
		r.voice.Hint("--framework=torch, jax, tensorflow, plain... starts it on each; --exit=command says that this was meant")
	}
	r.meter.report(r.voice)
	r.voice.Say("%s", r.report.Summary())
}

// alone: a script that trains, which nobody has told to do so on the workers. It
// ends with 0 all the same.
func (r *runner) alone(e Evidence) bool {
	script := strings.HasPrefix(e.Name, "python") || strings.HasPrefix(e.Name, "pypy")
	return script && r.cfg.auto() && r.cfg.Exit == ExitAuto && e.Code == 0 && e.Opened == 0 && e.Workers > 0
}

// said: the loss of the worker was said when it happened, and is all there is
// to say.
func (r *runner) said(e Evidence, v Verdict) bool {
	return len(e.Lost) == 1 && v.Why == fmt.Sprintf("worker %s lost: %s", e.Lost[0].Worker, e.Lost[0].Cause)
}

func (r *runner) welcomes() map[string]wire.WelcomeRecord {
	all := map[string]wire.WelcomeRecord{}
	for name, s := range r.links.standings() {
		if w, ok := s.link.Welcome(); ok {
			all[name] = w
		}
	}
	return all
}

// serve answers the rsh agents until working ends.
func (r *runner) serve(working context.Context, plan Plan) {
	server := newBroker(plan, r.links, r.tally, r.cfg, r.voice, r.id)
	listener := r.place.take()
	r.wg.Go(func() {
		if err := server.Serve(working, listener); err != nil {
			r.voice.Warn("serve rsh agents: %v", err)
		}
	})
}

// teardown tells the workers that the job is over and waits for them.
func (r *runner) teardown(working context.Context) {
	if r.links == nil {
		return
	}
	if r.fakes != nil {
		r.fakes.release()
	}
	for _, s := range r.links.standings() {
		if kindOf(s.err) == link.Superseded {
			return // the workers are another launcher's now
		}
	}
	grace := min(r.cfg.Grace, lostGrace)
	wait := endWait
	if r.hurry {
		wait = urgentWait
	}
	telling, cancel := context.WithTimeoutCause(working, grace+wait, errors.New("no answer in time"))
	defer cancel()
	r.wg.Go(func() { // told once more: do not wait
		select {
		case sig := <-r.signals:
			r.voice.Say("%v: not waiting for the workers", sig)
			cancel()
		case <-telling.Done():
		}
	})
	if err := r.links.end(telling, r.cfg.KeepWorkers, grace, r.silent); err != nil {
		r.voice.Warn("%s", oneLine(err))
		r.voice.Hint(fmt.Sprintf("a worker that does not hear from us stops everything after the lease (%s)", r.cfg.Lease))
	}
}

// How long workers may take to confirm the end beyond the grace. One that does
// not hear of it keeps its devices for a lease, so that an API server's restart
// is waited for. Who deletes a pod gives it 30 s from TERM to KILL.
const (
	endWait    = 30 * time.Second
	urgentWait = 10 * time.Second
)

// close waits for everything of this run.
func (r *runner) close() {
	if r.links != nil {
		r.links.close()
	}
	if r.fakes != nil {
		if err := r.fakes.sweep(context.Background()); err != nil {
			r.log.Warn("fake workers left something behind", "error", err)
		}
	}
	r.wg.Wait()
}
