//go:build linux

package launch

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/launch/plan"
	"github.com/musterhq/muster/agent/notice"
	"github.com/musterhq/muster/agent/progress"
	"github.com/musterhq/muster/agent/retry"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/proc"
	"github.com/musterhq/muster/rendezvous"
)

// newestWait limits how long the files of --progress-file are looked up. A file system may hang.
// newestHurry is the limit if the run ends, so that nobody else needs the answer.
const (
	newestWait  = 10 * time.Second
	newestHurry = 2 * time.Second
)

// lookup is the result of looking up the files of --progress-file.
type lookup struct {
	at  time.Time // when the newest one was written; zero: there is none
	err error
}

// lookUpSaved looks up what an attempt that has failed has saved, and records it: only that part of its
// work was not lost.
func (r *runner) lookUpSaved(ctx context.Context, a *attempt) {
	if r.cfg.ProgressFile == "" {
		return
	}
	limit := newestWait
	if a.watcher.Over() || ctx.Err() != nil {
		limit = newestHurry
	}
	a.saved.at, a.saved.err = r.newest(context.WithoutCancel(ctx), a, limit)
	switch {
	case a.saved.err != nil || a.unfit != nil:
	case a.saved.at.After(a.began):
		r.record.At(a.saved.at, event.Saved, "")
	default:
		r.record.Note(event.Unsaved, "", 0)
	}
}

// endOf says how the attempt ended, with what rules and the limit of attempts without progress ask
// about.
func (r *runner) endOf(a *attempt) retry.End {
	e := a.end()
	e.Worker, _ = a.origin()
	e.Signal, e.Output, e.Container = a.signal(), a.lastLines(), r.containerOf(a, e.Worker)
	e.Device = r.brokenDevice(a, e.Worker) != ""
	if r.account.Policy.MaxNoProgress > 0 {
		e.Progress = r.progressOf(a)
	}
	return e
}

// signal returns the signal that ended the process which failed first. It returns 0 if there is
// none, if it is unknown, or if we stopped the attempt.
func (a *attempt) signal() int {
	c := a.result.Cause
	switch {
	case a.verdict.Code == names.ExitHung:
		return 0
	case c == nil:
		return a.evidence.Signal
	case c.Err != nil:
		return 0
	case c.Exit.Code == 0 && c.Exit.Failed != nil:
		return c.Exit.Failed.Signal
	}
	return c.Exit.Signal
}

// lastLines returns the last lines of the process that failed first: its standard error, or all
// output of a command in the launcher.
func (a *attempt) lastLines() []string {
	if c := a.result.Cause; c != nil {
		return c.Tail
	}
	return a.words.Last()
}

// brokenDevice returns what shows that a device of the worker where the failure began is broken, or
// "". A line of the process that failed first may show it, or a device plugin in the status of the pod.
func (r *runner) brokenDevice(a *attempt, worker string) string {
	if line := notice.DeviceError(a.lastLines()); line != "" {
		return line
	}
	if slices.ContainsFunc(r.shot.Pods, func(p *corev1.Pod) bool { return p.Name == worker && rendezvous.Unhealthy(p) }) {
		return "a device is Unhealthy in the status of the pod"
	}
	return ""
}

// containerOf returns the container in which the failure began: that of the worker, or our own if no
// worker is known and the command ran here.
func (r *runner) containerOf(a *attempt, worker string) string {
	i := slices.IndexFunc(a.workers, func(w rendezvous.Worker) bool { return w.Name == worker })
	switch {
	case i >= 0:
		return a.workers[i].Container
	case worker == "" && a.command != nil:
		return r.container
	}
	return ""
}

// progressOf returns how far the attempt came: by a number in its output, by a file, or by its time
// of life.
func (r *runner) progressOf(a *attempt) retry.Progress {
	if peak, ok := a.progress.Peak(); ok {
		return retry.Progress{By: retry.ByNumber, Name: peak.Rule.Name(), At: peak.Numbers, Text: peak.Text}
	}
	if a.progress == nil && r.countsNumbers() {
		return retry.Progress{By: retry.ByNumber, Unknown: true} // it ended before anything was started
	}
	if r.cfg.ProgressFile == "" {
		return retry.Progress{}
	}
	p := retry.Progress{By: retry.ByFile, Name: "--progress-file=" + r.cfg.ProgressFile}
	switch at := a.saved.at; {
	case a.saved.err != nil:
		r.warn([]string{fmt.Sprintf("cannot look up %s: %v; the attempt counts as one with progress", p.Name, a.saved.err)})
		p.Unknown = true
	case !at.IsZero():
		p.At, p.Text = []float64{float64(at.Unix()), float64(at.Nanosecond())}, at.UTC().Format(time.RFC3339)
	}
	return p
}

// countsNumbers reports whether a rule for output lines captures numbers.
func (r *runner) countsNumbers() bool {
	list, err := progress.Read(r.cfg.Progress)
	if err != nil {
		return false
	}
	set, err := progress.Compile(list)
	if err != nil {
		return false
	}
	_, ok := set.Begin(time.Time{}, 0).Peak()
	return ok
}

// newest returns when the newest file of --progress-file was written, where rank 0's command ran: in
// the launcher, or on a worker. The zero time means that there is none.
func (r *runner) newest(ctx context.Context, a *attempt, limit time.Duration) (time.Time, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %s", limit))
	defer cancel()
	glob := r.cfg.ProgressFile
	if !filepath.IsAbs(glob) {
		glob = filepath.Join(r.cfg.Chdir, glob)
	}
	if len(a.plan.Processes) == 0 {
		return newestHere(ctx, glob)
	}
	first := max(0, slices.IndexFunc(a.plan.Processes, func(p plan.Process) bool { return p.Rank == 0 }))
	worker := a.plan.Hosts[a.plan.Processes[first].Worker].Name
	l := r.links.LinkOf(worker)
	if l == nil {
		return time.Time{}, fmt.Errorf("the link to worker %s is closed", worker)
	}
	at, err := l.Newest(ctx, glob)
	if err != nil {
		return at, fmt.Errorf("worker %s: %w", worker, err)
	}
	return at, nil
}

// newestHere is newest in the launcher. A look-up that hangs is left behind.
func newestHere(ctx context.Context, glob string) (time.Time, error) {
	type found struct {
		at  time.Time
		err error
	}
	done := make(chan found, 1)
	go func() {
		at, err := proc.Newest(".", glob)
		done <- found{at, err}
	}()
	select {
	case f := <-done:
		return f.at, f.err
	case <-ctx.Done():
		return time.Time{}, context.Cause(ctx)
	}
}
