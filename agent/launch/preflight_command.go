//go:build linux

package launch

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/musterhq/muster/agent/check"
	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/group"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/launch/plan"
	"github.com/musterhq/muster/agent/launch/preflight"
	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/wire"
)

// checkGrace is the time between TERM and KILL for a check that takes too long.
const checkGrace = time.Second

// runnerOn returns the function that runs the user's check on one worker.
func runnerOn(l *link.Link, cfg config.Config) func(ctx context.Context, line string, out io.Writer) (string, error) {
	return func(ctx context.Context, line string, out io.Writer) (string, error) {
		spec := wire.Spec{Argv: []string{"/bin/sh", "-c", line}, Env: cfg.Env, Dir: cfg.Chdir, EndsOnFailure: true}
		session, err := l.Open(ctx, "", spec, link.Streams{Stdout: out, Stderr: out})
		if err != nil {
			return "", err
		}
		exit, err := session.Wait(ctx)
		if ctx.Err() != nil {
			session.Stop(checkGrace)
			ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkGrace+urgentWait)
			defer cancel()
			_, _ = session.Wait(ending) // the run ends everything on the worker if this is not enough
			return "", context.Cause(ctx)
		}
		return howEnded(exit), err
	}
}

// howEnded says how a check ended; "" for exit code 0.
func howEnded(exit wire.ExitRecord) string {
	switch {
	case exit.Error != "":
		return "could not be started: " + exit.Error
	case exit.Code == 0 && exit.Reason != "":
		return "was stopped"
	case exit.Code == 0:
		return ""
	}
	return phrase.HowEnded(exit.Code, exit.Signal)
}

// untallied opens sessions that are no part of the job, and so are not counted.
type untallied struct{ link *link.Link }

// Open implements group.Opener.
func (u untallied) Open(ctx context.Context, id string, spec wire.Spec, stdout, stderr io.Writer) (group.Session, error) {
	return u.link.Open(ctx, id, spec, link.Streams{Stdout: stdout, Stderr: stderr})
}

// groupCheck returns the function that runs the user's check of all workers together: one process
// on each, with the variables of the job's framework, or else those of every rank. It returns nil if
// there is none. The check uses the upper half of the attempt's ports.
func (r *runner) groupCheck(a *attempt) func(context.Context) check.Finding {
	if r.cfg.GroupCheck == "" {
		return nil
	}
	return func(ctx context.Context) check.Finding {
		made := a.made
		made.Config, made.Port = r.cfg.ForGroupCheck(), a.port+framework.PortBlock/2
		planned, err := r.place.Plan(made)
		if err != nil {
			return check.Finding{Check: "group-command", Verdict: check.Unknown, Found: fmt.Sprintf("--preflight-group-command: %v", err), Remedy: "correct the command"}
		}
		ctx, stop := context.WithTimeoutCause(ctx, r.cfg.CheckTime, preflight.ErrTimeout)
		defer stop()
		var all []group.Process
		var outputs []*preflight.Tail
		for _, p := range planned.Processes {
			worker := planned.Hosts[p.Worker].Name
			out := &preflight.Tail{}
			outputs = append(outputs, out)
			all = append(all, group.Process{Label: p.Label, Worker: worker, Role: p.Role, Opener: untallied{r.links.LinkOf(worker)}, Part: p.Part, After: p.After, Stdout: out, Stderr: out,
				Spec: wire.Spec{Argv: p.Argv, Env: p.Environment(r.cfg, plan.Assigned{}), Dir: r.cfg.Chdir, EndsOnFailure: true}})
		}
		ended := map[int]bool{}
		result := group.New(group.Config{Processes: all, Grace: checkGrace, FailGrace: checkGrace, OnEnd: func(e group.End, _ bool) {
			ended[e.Process] = ended[e.Process] || ctx.Err() == nil
		}}).Run(ctx)
		switch {
		case ctx.Err() != nil:
			return r.late(all, ended, context.Cause(ctx))
		case result.Cause != nil:
			c := result.Cause
			return check.OfGroup(c.Worker, r.nodeOf(c.Worker), c.Sentence(), outputs[c.Process].Last())
		}
		return check.OfGroup("", "", "", "")
	}
}

// late judges a check of all workers that was killed. If some processes had ended, the
// others are to blame.
func (r *runner) late(all []group.Process, ended map[int]bool, cause error) check.Finding {
	var left []group.Process
	for i, p := range all {
		if !ended[i] {
			left = append(left, p)
		}
	}
	switch {
	case len(left) == len(all) || len(left) == 0:
		return check.OfGroup("", "", cause.Error(), "")
	case len(left) == 1:
		return check.OfGroup(left[0].Worker, r.nodeOf(left[0].Worker), fmt.Sprintf("%s did not end in time, and was killed; all others ended", left[0].Label), "")
	}
	return check.OfGroup("", "", fmt.Sprintf("%s and %s did not end in time, and were killed; %s ended", left[0].Label, phrase.Count(len(left)-1, "other"), phrase.Count(len(all)-len(left), "process")), "")
}

func (r *runner) nodeOf(worker string) string { return r.links.Standings()[worker].Worker.Node }
