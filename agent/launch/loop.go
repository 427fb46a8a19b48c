//go:build linux

package launch

import (
	"context"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/headway"
	"github.com/musterhq/muster/agent/launch/plan"
	"github.com/musterhq/muster/agent/retry"
	"github.com/musterhq/muster/agent/retry/rules"
	"github.com/musterhq/muster/rendezvous"
)

// repeat is the loop of a run. It runs attempts until there is no restart, and prints the verdict
// of the last one.
func (r *runner) repeat(ctx, working context.Context, workers []rendezvous.Worker) (err error) {
	if len(r.cfg.Progress) > 0 {
		r.headway = headway.New(os.Getenv, r.voice)
		defer r.headway.Close()
	}
	r.meter = console.NewMeter(r.cfg.Metrics, r.cfg.MetricsFile, r.tags(), fleet.InPod())
	r.ports = plan.NewPorts(r.cfg.Port, rand.IntN)
	if r.account.Policy, err = r.cfg.Retries(); err != nil {
		return err
	}
	port, _ := r.ports.Next(time.Now())
	for number := 0; ; {
		a, err := r.attempt(ctx, working, number, port, workers)
		if err != nil {
			return r.endEarly(number, err)
		}
		d := r.decide(ctx, a)
		if !d.Again {
			r.pronounce(a, d)
			if err := r.sweep(working, a); err != nil {
				r.log.Warn("processes of the command are still running", "error", err)
			}
			return nil
		}
		if workers, err = r.prepare(ctx, working, a, d, &port); err != nil {
			return r.endEarly(d.Next, err)
		}
		number = d.Next
	}
}

// endEarly ends a run whose attempt with this number could not be started. It reports what earlier
// attempts have done.
func (r *runner) endEarly(number int, err error) error {
	if number > 0 {
		r.report.Exit = failure.CodeOf(err)
		r.conclude()
	}
	return err
}

// decide decides whether to restart after the attempt, and records the attempt.
func (r *runner) decide(ctx context.Context, a *attempt) retry.Decision {
	d := retry.Decision{Counted: true}
	if v, overruled := a.watcher.Overrule(a.result.Cause == nil && a.result.Stopped, a.evidence.Lost); overruled {
		a.verdict, a.said = v, false
	}
	failed := a.verdict.Code != 0 || a.endedToRestart()
	if failed {
		r.lookUpSaved(ctx, a)
	}
	if failed && !a.watcher.Over() && ctx.Err() == nil && !r.links.Superseded() && r.lostOutput.Err() == nil {
		d = r.account.Decide(r.endOf(a), time.Now())
	}
	tried := a.record(d.Counted)
	tried.Words = strings.TrimPrefix(r.epilogue, "\n")
	r.report.Attempts = append(r.report.Attempts, tried)
	r.record.Ended(r.causeOf(a), tried.Why, tried.Code)
	r.archive.End(tried.Code, tried.Why)
	return d
}

// causeOf returns the cause of an attempt's end as one word. It records a broken device.
func (r *runner) causeOf(a *attempt) string {
	e := a.end()
	if e.Code != 0 {
		worker, _ := a.origin()
		if why := r.brokenDevice(a, worker); why != "" {
			e.Device = true
			r.record.Worker(event.BrokenDevice, worker, "", why)
		}
	}
	return rules.CauseOf(e, a.watcher.Told() != 0)
}
