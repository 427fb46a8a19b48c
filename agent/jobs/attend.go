package jobs

import (
	"context"
	"io"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/metrics"
	"github.com/musterhq/muster/agent/outfile"
	"github.com/musterhq/muster/exec/names"
)

// metricsFile is the name of the metrics file in Kubeflow Pipelines' examples.
const metricsFile = "mlpipeline-metrics.json"

// Attendance follows a job until its end.
type Attendance struct {
	API         *API
	Job         string
	UID         types.UID
	Out         io.Writer // gets the job's log; nil: discarded
	Metrics     []string  // in the format of metrics.Parse
	Tagged      bool      // each line of the launcher's log begins with its rank; see function Tagged
	MetricsFile string
	// Progress gets the state of the job whenever it changes, Say the metrics, Warn warnings.
	Progress, Say, Warn func(format string, args ...any)
}

// lastLine is how long a line that is being written may take when ctx has ended.
const lastLine = time.Second

// Run returns the exit code of the job. seen reports whether a controller has seen the job. It
// returns an error if the job was deleted, if its log cannot be read, if the metrics cannot be
// written, or if ctx has ended (its cause). If Out then takes nothing, one write to it is left behind.
func (a Attendance) Run(ctx context.Context) (code int, seen bool, err error) {
	specs, err := metrics.Parse(a.Metrics)
	if err != nil {
		return 0, false, err
	}
	gauge := newGauge(specs, a.Tagged)
	reading, stop := context.WithCancel(ctx)
	var logs sync.WaitGroup
	var logErr error
	if a.Out != nil || len(specs) > 0 {
		print := Printer{Out: a.Out}
		l := Logs{API: a.API, Job: a.Job, UID: a.UID, Follow: true, Say: func(string, ...any) {}, Emit: func(line Line) error {
			gauge.look(line)
			return print.Line(line)
		}}
		logs.Go(func() { logErr = l.Run(reading) })
	}
	job, err := a.API.Wait(ctx, a.Job, a.UID, a.Progress)
	seen = job != nil && job.Status.Phase != ""
	if err != nil {
		stop()
	}
	readOrLeft(ctx, &logs)
	stop()
	switch {
	case err != nil:
		return 0, seen, err
	case ctx.Err() != nil:
		return 0, seen, context.Cause(ctx)
	}
	if logErr != nil {
		// The job has ended, and its result matters more than its log.
		a.Warn("%v", logErr)
	}
	if len(specs) > 0 {
		if err := a.report(gauge.collector); err != nil {
			return 0, seen, err
		}
	}
	return a.judge(job, logErr), seen, nil
}

// readOrLeft waits until the log was read, or until soon after ctx has ended. Nothing can end a write to a pager
// that shows another page, or to a stopped terminal. What follows a signal must not wait for it.
func readOrLeft(ctx context.Context, logs *sync.WaitGroup) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		logs.Wait()
	}()
	select {
	case <-done:
		return
	case <-ctx.Done():
	}
	late := time.NewTimer(lastLine)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
	}
}

// judge returns the exit code. If the requested log is incomplete, the result is not success.
func (a Attendance) judge(job *v1alpha1.LaunchJob, logErr error) int {
	code := Code(job)
	if code == 0 && logErr != nil {
		return failure.CodeOf(logErr)
	}
	return code
}

// report prints and writes the collected metrics.
func (a Attendance) report(c *metrics.Collector) error {
	entries, notes := metrics.Entries(c.Series())
	for _, s := range c.Series() {
		if s.Count > 0 {
			a.Say("%s", s.Sentence())
		}
	}
	for _, note := range notes {
		a.Warn("%s", note)
	}
	if n := c.Long(); n > 0 {
		a.Warn("metrics: skipped parts of lines longer than 64 KiB: %d", n)
	}
	path := a.MetricsFile
	if path == "" {
		path = metricsFile
	}
	text, err := metrics.Encode(entries)
	if err == nil {
		err = outfile.Write(path, text, metrics.Ours)
	}
	if err != nil {
		return failure.New(names.ExitOutput, "--metrics-file=FILE writes them elsewhere", "write metrics: %w", err)
	}
	a.Say("%d of %d metrics written to %s", len(entries), len(c.Series()), path)
	return nil
}
