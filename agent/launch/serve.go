//go:build linux

package launch

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/launch/command"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/hang"
	"github.com/musterhq/muster/agent/launch/plan"
	"github.com/musterhq/muster/agent/launch/stall"
	"github.com/musterhq/muster/agent/launch/tally"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/agent/stacks"
	"github.com/musterhq/muster/exec/broker"
	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/shortage"
	"github.com/musterhq/muster/exec/wire"
)

// opener lets the broker open sessions on one worker's link, and counts them. It passes the number
// of the attempt and its trace context to them, because daemons pass their environment on to the
// ranks.
type opener struct {
	link    *link.Link
	tally   *tally.Tally
	attempt int
	trace   []string // the attempt's trace context, K=V each
}

// Open implements broker.Opener.
func (o opener) Open(ctx context.Context, id string, spec wire.Spec, s broker.Streams) (broker.Session, error) {
	spec.Env = append(append(spec.Env, names.EnvAttempt+"="+strconv.Itoa(o.attempt)), o.trace...)
	session, err := o.link.Open(ctx, id, spec, link.Streams{Stdin: s.Stdin, Stdout: s.Stdout, Stderr: s.Stderr})
	if err != nil {
		return nil, err
	}
	o.tally.Opened()
	return session, nil
}

// service answers the stubs: it knows the workers of the current attempt.
type service struct {
	tally *tally.Tally

	mu      sync.RWMutex
	hosts   *broker.Hosts
	known   []string
	label   func(session string) string // returns what a session of the current attempt runs
	planned plan.Plan                   // of the current attempt

	progress *stall.Watch // of the current attempt; nil: no steps are measured
}

// latest returns the plan of the current attempt.
func (s *service) latest() plan.Plan {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.planned
}

// set sets the workers of a plan and their links.
func (s *service) set(planned plan.Plan, standings map[string]fleet.Standing, label func(string) string) {
	hosts, trace := &broker.Hosts{}, planned.Trace()
	var known []string
	for _, h := range planned.Hosts {
		one := standings[h.Name]
		hosts.Add(broker.Target{Name: h.Name, Opener: opener{one.Link, s.tally, planned.Attempt, trace}}, h.Host, h.IP, one.Worker.Hostname)
		known = append(known, h.Host)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hosts, s.known, s.label, s.planned = hosts, known, label, planned
}

// Resolve implements broker.Resolver.
func (s *service) Resolve(host string) (broker.Target, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.hosts.Resolve(host)
}

func (s *service) list() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.known
}

// newBroker returns the broker for the workers of s.
func newBroker(s *service, l *fleet.Links, cfg config.Config, v *console.Voice, run string) *broker.Server {
	missed := &missing{voice: v, named: map[string]bool{}}
	t, pdsh := s.tally, framework.IsProgram(cfg.Command, config.Pdsh)
	return &broker.Server{
		Resolver: s,
		Hosts:    s.list,
		Grace:    cfg.ShortGrace(),
		Stacks:   s.stacksOf(l, cfg),
		OnCall: func(worker, id, line string, pid int) {
			if !command.Owns(pid, run) {
				return
			}
			m := command.MPIRunAbove(pid)
			t.Called(worker, id, m)
			if m != nil {
				return
			}
			if by, says := command.StarterAbove(pid, pdsh); by != nil {
				t.Ordered(worker, id, line, by, says)
			}
		},
		OnRefused: func(pid int, err error) {
			if !command.Owns(pid, run) {
				return
			}
			if m := command.MPIRunAbove(pid); m != nil {
				t.Refused(m, err)
			} else if by, says := command.StarterAbove(pid, pdsh); by != nil {
				t.RefusedOrder(err, by, says)
			}
		},
		OnLeft: t.Left,
		OnExit: func(worker, id string, exit wire.ExitRecord, err error) {
			missed.note(worker, exit, err)
			noteExit(t, worker, id, exit, err)
			t.Answered(id, exit, err)
			l.Nudge()
		},
		OnTrouble: func(err error) {
			if err != nil {
				v.Warn("agent rsh cannot connect at the moment: %v", err)
				return
			}
			v.Say("agent rsh can connect again")
		},
	}
}

// noteExit records the end of a session if it ended badly by itself.
func noteExit(t *tally.Tally, worker, id string, exit wire.ExitRecord, err error) {
	if exit.OOM > 0 {
		t.Starve(worker)
	}
	if exit.Reason == wire.ReasonPreempted {
		t.Preempt(worker)
	}
	var lost *link.LostError
	switch {
	case errors.As(err, &lost):
		t.Ended(verdict.BadSession{Worker: worker, Code: 255, What: "ended with its worker: " + fleet.CauseOf(err)})
	case err != nil:
		// The stub or the launcher ended first, so this is our own doing.
	default:
		if b, ok := verdict.JudgeSession(worker, exit.Code, exit.Signal, exit.Reason, exit.Error); !ok && !t.Finished(id) {
			t.Ended(b)
		}
	}
}

// missing reports workers on which a command was missing. The shell's own message names the command
// but not the worker, and mpirun's message names neither.
type missing struct {
	voice *console.Voice
	mu    sync.Mutex
	named map[string]bool
}

// note reports each worker once, the first one with a hint.
func (m *missing) note(worker string, exit wire.ExitRecord, err error) {
	said := map[int]string{
		names.ExitNotFound:   "command not found there",
		names.ExitNotRunable: "the command cannot be run there",
	}[exit.Code]
	if err != nil || exit.Signal != 0 || said == "" {
		return
	}
	if exit.Error != "" {
		said = exit.Error
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.named[worker] {
		return
	}
	m.named[worker] = true
	m.voice.Warn("worker %s: a session ended with %d: %s", worker, exit.Code, said)
	if len(m.named) == 1 {
		m.voice.Hint(unstarted(exit.Error))
	}
}

// unstarted returns the hint for a command that a worker could not start.
func unstarted(why string) string {
	return cmp.Or(shortage.HintIn(why), "is it in the image of the workers, executable, and in their PATH?")
}

// stacksOf returns the function with which the broker reports where ranks stand. It blames no rank,
// because nothing says that the job hangs.
func (s *service) stacksOf(l *fleet.Links, cfg config.Config) func(context.Context, []string) []string {
	if cfg.Stacks == config.StacksNever {
		return func(context.Context, []string) []string {
			return []string{"stacks are not collected: agent run has --stacks=never"}
		}
	}
	return func(ctx context.Context, numbers []string) []string {
		s.mu.RLock()
		label := s.label
		s.mu.RUnlock()
		at := hang.TakeStacks(ctx, hang.AskedStacks, wire.ProgramsAll, l.Askers(), label)
		if len(numbers) > 0 {
			at.Ranks = slices.DeleteFunc(at.Ranks, func(r stacks.Rank) bool { return !slices.Contains(numbers, strconv.Itoa(r.Number)) })
		}
		switch {
		case len(at.Ranks) > 0 || len(at.Unknown) > 0:
		case len(numbers) > 0:
			return []string{"no such rank runs"}
		default:
			return []string{"no ranks run"}
		}
		v := stacks.OfHang(at.Ranks)
		if v.Sentence = v.Facts(); len(numbers) > 0 {
			v.Sentence = ""
		}
		return at.Lines(v)
	}
}
