//go:build linux

package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/group"
	"github.com/musterhq/muster/agent/group/output"
	"github.com/musterhq/muster/agent/launch/command"
	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/hang"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/launch/plan"
	"github.com/musterhq/muster/agent/launch/report"
	"github.com/musterhq/muster/agent/launch/supervise"
	"github.com/musterhq/muster/agent/launch/tally"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/shortage"
	"github.com/musterhq/muster/exec/wire"
)

// crew is the user's command as a group of processes on the workers.
type crew struct {
	group  *group.Group
	ended  chan struct{}
	result group.Result                             // valid when ended is closed
	live   atomic.Int64                             // number of processes that have not ended
	lead   func(worker string, grace time.Duration) // asks only the ranks of this worker to end
	leaves atomic.Bool                              // a worker that was told to stop has ended the group
}

// Done implements supervise.Running.
func (c *crew) Done() <-chan struct{} { return c.ended }

// Signal implements supervise.Running.
func (c *crew) Signal(sig syscall.Signal) { c.group.Signal(sig) }

// Stop implements supervise.Running. The group has its own grace.
func (c *crew) Stop(sig syscall.Signal, _ time.Duration, _ bool) (number int, later <-chan int) {
	c.group.Signal(sig)
	return int(c.live.Load()), nil
}

// Leave implements supervise.Running. The worker keeps processes that serve other workers running
// meanwhile, because it has heard from the launcher.
func (c *crew) Leave(worker string, grace time.Duration) (number int, later <-chan int) {
	c.leaves.Store(true)
	c.lead(worker, grace)
	c.group.Leave(worker, grace)
	return int(c.live.Load()), nil
}

// way opens sessions of the group on one worker's link, and counts them.
type way struct {
	link  *link.Link
	tally *tally.Tally
	hang  *hang.Watch
	label string // of the process
}

// Open implements group.Opener.
func (s way) Open(ctx context.Context, id string, spec wire.Spec, stdout, stderr io.Writer) (group.Session, error) {
	s.hang.Name(id, s.label)
	s.tally.Name(id, s.label)
	session, err := s.link.Open(ctx, id, spec, link.Streams{Stdout: stdout, Stderr: stderr})
	if err != nil {
		return nil, err
	}
	s.tally.Opened()
	return session, nil
}

// runGroup runs the processes of the attempt's plan and judges their end.
func (r *runner) runGroup(ctx, working context.Context, a *attempt, user [][]string) error {
	if err := r.layFiles(ctx, &a.plan, user); fleet.CauseOfLost(err) {
		return r.lostBefore(ctx, a, err)
	} else if err != nil {
		return err
	}
	planned := a.plan
	if len(planned.Files) > 0 { // the plan now has their directories
		if err := r.place.Note(planned); err != nil {
			return fmt.Errorf("write plan: %w", err)
		}
	}
	out, complaints := console.NewOutlet(r.streams.Out), console.NewOutlet(r.streams.Err)
	r.applyRules(a, planned.Ranks())
	processes, err := r.processes(a, console.Named{Name: console.PlaceName(console.StandardOutput, r.streams.Out), To: out}, console.Named{Name: console.PlaceName(console.StandardError, r.streams.Err), To: complaints})
	if err != nil {
		return err
	}
	c := &crew{ended: make(chan struct{})}
	c.live.Store(int64(len(processes)))
	defer r.headway.Follow(working, a.progress)()
	c.lead = func(worker string, grace time.Duration) {
		r.wg.Go(func() { command.AskWorker(working, r.links, worker, grace) })
	}
	var stopped []report.StoppedRank
	var s *supervise.Supervisor // set before the group runs
	look := hang.NewWitness(r.wg.Go, r.links.Askers, a.hang)
	c.group = group.New(group.Config{
		Processes: processes, Any: planned.Any, Grace: r.cfg.Grace, Linger: r.cfg.ShortGrace(), FailGrace: min(r.cfg.Grace, supervise.LostGrace), Patience: r.cfg.AnswerTime(),
		Last: plan.Store(planned), Ask: func(worker string, grace time.Duration) { c.lead(worker, grace) },
		Release: func() { out.Close(); complaints.Close() },
		Calm:    func() bool { return a.watcher.Leaving() },
		OnWait: func(label, address string, soFar time.Duration) {
			r.voice.Say("%s is waiting for a process to listen on %s (%s so far)", label, address, phrase.Seconds(soFar))
		},
		Witness: r.witness(look), WitnessTime: hang.FailureStacks,
		OnFailure: func(f group.Failure, others int) {
			if !c.leaves.Load() || f.Exit.Reason != wire.ReasonPreempted { // otherwise it was already printed
				r.tellCause(f, others, len(processes))
			}
			r.tellBlame(a.number, f, look)
		},
		OnEnd: func(e group.End, failed bool) {
			c.live.Add(-1)
			label, worker := c.group.Label(e.Process), c.group.Worker(e.Process)
			rank := rankOf(label)
			r.recordRankEnd(worker, label, e)
			look.Ended(label)
			stopped = append(stopped, stoppedOf(e, c.group)...)
			a.progress.Ended(rank, e.Asked.IsZero() && (!failed || planned.Any))
			s.Rest.Note(label, rank >= 0 && e.Exit.Code == 0 && e.Err == nil && e.Exit.Failed == nil, failed && !planned.Any)
			if e.Exit.OOM > 0 {
				r.tally.Starve(worker)
			}
			if e.Exit.Reason == wire.ReasonPreempted {
				r.tally.Preempt(worker)
			}
			if failed && !c.group.Failed() && !c.leaves.Load() && !(planned.Elastic && fleet.CauseOfLost(e.Err)) { // see supervise.Roster
				r.voice.Say("%s on %s failed; the job continues without it", label, worker)
			}
		},
	})
	a.group, a.live = c.group, &c.live
	s = r.supervise(working, a, filepath.Base(r.cfg.Command[0]), c)
	s.Starter = plan.Starter(planned.Processes)
	s.Group, s.Spares, s.What, s.Rest = true, planned.Any, whatOf(processes), supervise.NewLeftover(r.cfg.ExitWithin)
	r.wg.Go(func() {
		defer close(c.ended)
		c.result = c.group.Run(ctx)
	})
	s.Watch(ctx)
	r.noteStopped(a, stopped)
	s.Aftermath(ctx, c.result.Code != 0)
	s.NotePreempted()
	r.tellGivenUp(c.result)
	r.judgeCrew(a, c.result)
	return nil
}

// tellGivenUp warns of processes that may still run.
func (r *runner) tellGivenUp(result group.Result) {
	named, more := result.GaveUp()
	for _, name := range named {
		r.voice.Warn("gave up on %s: its end was not reported in time, or its output is not read", name)
	}
	if more > 0 {
		r.voice.Warn("gave up on %s for the same reason", phrase.Count(more, "more process"))
	}
}

// lostBefore judges an attempt whose worker was lost before anything was started.
func (r *runner) lostBefore(ctx context.Context, a *attempt, err error) error {
	s := r.observer(a.workers)
	s.Group = true
	a.watcher = s
	s.Aftermath(ctx, true)
	s.NotePreempted()
	r.tally.Testify(&a.evidence)
	r.hurry, r.silent, r.shot = s.Told() != 0, s.Silent(), s.Seen()
	a.verdict = verdict.Verdict{Code: names.ExitHopeless, Why: err.Error()}
	return nil
}

// processes returns the group's processes, with their output.
func (r *runner) processes(a *attempt, out, complaints io.Writer) ([]group.Process, error) {
	printer, err := r.printer(a, out, complaints)
	if err != nil {
		return nil, err
	}
	var processes []group.Process
	known, twice := plan.Assigned{}, plan.Packed{}
	once := ranksOnce{framework.Scripts(r.cfg.Chdir), map[string]bool{}}
	a.process = func(p plan.Process) (m group.Process, err error) {
		worker := a.plan.Hosts[p.Worker].Name
		m = group.Process{Label: p.Label, Worker: worker, Role: p.Role, Opener: way{r.links.LinkOf(worker), r.tally, a.hang, p.Label}, Part: p.Part, After: p.After,
			Spec: wire.Spec{Argv: p.Argv, Dir: r.cfg.Chdir, EndsOnFailure: true, GatherMillis: plan.GatherMillis(len(a.plan.Processes))}}
		m.Spec.JudgesRanks = r.cfg.Exit != verdict.ExitCommand && once.of(p.Argv) &&
			!framework.RestartsRanks(slices.Concat(a.made.UserEnvOn(worker), p.Environment(r.cfg, known)))
		if m.Spec.Env, m.Spec.Packed, err = twice.Apart(p.Environment(r.cfg, known), len(r.cfg.Env)); err != nil {
			return m, err
		}
		if m.Stdout, m.Stderr, err = r.streamsOf(a, p, printer); err != nil {
			return m, outputFailure(err)
		}
		first := r.record.First(worker, p.Rank, p.Label)
		m.Stdout, m.Stderr = first.Hear(m.Stdout), first.Hear(m.Stderr)
		m.Stdout, m.Stderr = r.noteErrors(m.Stdout), r.noteErrors(m.Stderr)
		m.Stdout, m.Stderr = a.network.Hear(worker, a.progress.Hear(p.Rank, m.Stdout)), a.progress.Hear(p.Rank, m.Stderr)
		m.Stdout, m.Stderr = a.hang.Hear(r.meter.Watch(p.Rank, m.Stdout)), a.hang.Hear(m.Stderr)
		return m, nil
	}
	for _, p := range a.plan.Processes {
		m, err := a.process(p)
		if err != nil {
			return nil, err
		}
		processes = append(processes, m)
	}
	return processes, nil
}

// printer returns the printer for the group's output. It tags the output if there is more than one
// process.
func (r *runner) printer(a *attempt, out, complaints io.Writer) (*output.Printer, error) {
	planned := a.plan
	mode, err := r.cfg.GroupOutput(len(planned.Processes))
	if err != nil {
		return nil, err
	}
	only, err := r.cfg.Shown()
	if err != nil {
		return nil, err
	}
	if mode.Kind == output.Dir {
		if err := r.beginArchive(a.number); err != nil {
			return nil, err
		}
	}
	return output.New(output.Config{Mode: mode, Out: out, Err: complaints, ColorOut: r.colored(r.streams.Out),
		ColorErr: r.colored(r.streams.Err), Only: only, Ranks: planned.Ranks(), Processes: len(planned.Processes)}), nil
}

// outputFailure returns the error of opening the files of --output. It is a usage error unless the
// disk is full or broken.
func outputFailure(err error) error {
	for _, cause := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EIO} {
		if errors.Is(err, cause) {
			return failure.New(names.ExitOutput, "", "--output: %w", err)
		}
	}
	return failure.Usage(cmp.Or(shortage.Way(err), "--output=dir=PATH takes a directory that can be made and written"), "--output: %w", err)
}

// colored reports whether tags on f get colors.
func (r *runner) colored(f *os.File) bool {
	return names.Colored(r.cfg.Color, term.IsTerminal(int(f.Fd())), os.Getenv)
}

// tellCause names the root cause while the rest is still running.
func (r *runner) tellCause(f group.Failure, others, all int) {
	if r.lostOutput.Err() != nil && f.Err == nil {
		return // the failure is a consequence, or cannot be told from one
	}
	if fleet.CauseOfLost(f.Err) { // its pod's status may give a better cause
		r.voice.Say("%s ran on worker %s; stopping the rest", f.Label, f.Worker)
	} else {
		r.voice.Warn("%s%s%s", f.Sentence(), verdict.Besides(others), stoppingRest(others, all))
	}
	for _, line := range f.Tail {
		r.voice.Warn("  %s | %s", f.Label, line)
	}
	switch {
	case strings.Contains(f.Exit.Error, "change directory"):
		r.voice.Hint("--chdir names a directory in the workers' containers, the same on each")
	case f.Exit.Error != "":
		r.voice.Hint(unstarted(f.Exit.Error))
	}
	if len(f.Tail) > 0 {
		r.epilogue = "\n" + strings.Join(f.Tail, "\n")
	}
}

func stoppingRest(others, all int) string {
	if all-others-1 <= 0 {
		return ""
	}
	return "; stopping the rest"
}

// judgeCrew judges the end of a group.
func (r *runner) judgeCrew(a *attempt, result group.Result) {
	s := a.watcher
	r.noteStragglers(a)
	r.hurry, r.silent, r.shot = s.Told() != 0, s.Silent(), s.Seen()
	r.tally.Testify(&a.evidence)
	a.result, a.verdict = result, verdict.JudgeGroup(s.Told(), groupEnd(result), lostOf(a.evidence.Lost, a.plan))
	if v, cut := r.cutShort(a.verdict, s.Told(), len(lostOf(a.evidence.Lost, a.plan))); cut {
		a.verdict, a.said = v, true
		return
	}
	r.noteHang(a)
	a.said = !s.GoesDown() && result.Cause != nil && !fleet.CauseOfLost(result.Cause.Err) && a.verdict.Code == result.Code
	if c := result.Cause; (a.said || s.GoesDown()) && c != nil && c.Exit.Reason == wire.ReasonPreempted {
		if by := s.GoneBy(c.Worker); by != "" {
			a.verdict.Why, a.said = a.verdict.Why+": "+by, false
		}
	}
}

// lostOf returns the lost workers on which processes of the plan ran.
func lostOf(all []verdict.Lost, planned plan.Plan) []verdict.Lost {
	if len(all) == 0 {
		return nil
	}
	used := map[string]bool{}
	for _, p := range planned.Processes {
		used[planned.Hosts[p.Worker].Name] = true
	}
	return slices.DeleteFunc(slices.Clone(all), func(l verdict.Lost) bool { return !used[l.Worker] })
}

// whatOf returns what messages call the processes: "rank" if all are numbered ranks, else "process".
func whatOf(processes []group.Process) string {
	for _, m := range processes {
		if !strings.HasPrefix(m.Label, "rank ") {
			return "process"
		}
	}
	return "rank"
}

// stoppedOf returns the ranks of a process that was asked to end, or whose worker was: the process
// itself, or the ranks that a launcher such as torchrun has started.
func stoppedOf(e group.End, g *group.Group) (all []report.StoppedRank) {
	preempted := e.Exit.Reason == wire.ReasonPreempted
	if e.Err != nil || e.Asked.IsZero() && !preempted {
		return nil
	}
	label, worker := g.Label(e.Process), g.Worker(e.Process)
	lives := false
	for _, r := range e.Exit.Asked {
		if r.Rank != "" {
			lives = lives || r.Lives
			all = append(all, report.StoppedRank{Rank: "rank " + r.Rank, Worker: worker, Seconds: float64(r.AfterMillis) / 1000, Killed: r.Killed})
		}
	}
	if len(all) > 1 || len(all) == 1 && (all[0].Rank != label || e.Asked.IsZero()) {
		return all
	}
	s := report.StoppedRank{Rank: label, Worker: worker, Killed: e.Exit.Signal == int(syscall.SIGKILL) && e.Exit.OOM == 0}
	if !e.Asked.IsZero() {
		s.Seconds = max(0, e.At.Sub(e.Asked).Seconds())
	}
	if len(all) == 1 && !all[0].Killed && !lives && !s.Killed {
		s.Seconds = min(s.Seconds, all[0].Seconds) // its launcher may have been kept longer
	}
	return []report.StoppedRank{s}
}
