package jobs

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/failure"
)

// lookEvery is the time between two reads of a job during a wait.
const lookEvery = time.Second

// unseenFor is how long a controller may take to see a new job before Wait reports it.
const unseenFor = 5 * time.Second

// Over reports whether the job has ended.
func Over(job *v1alpha1.LaunchJob) bool {
	c := job.Status.Conditions
	return meta.IsStatusConditionTrue(c, v1alpha1.Succeeded) || meta.IsStatusConditionTrue(c, v1alpha1.Failed)
}

// Code returns the exit code of a job that has ended: 0, or that of its first failure, or 1.
func Code(job *v1alpha1.LaunchJob) int {
	if meta.IsStatusConditionTrue(job.Status.Conditions, v1alpha1.Succeeded) {
		return 0
	}
	if f := job.Status.FirstFailure; f != nil && f.ExitCode > 0 && f.ExitCode < 256 {
		return int(f.ExitCode)
	}
	return 1
}

// Wait waits until the job with that uid has ended and returns it. It reports why the job does not
// run whenever that changes. It returns an error if the job was deleted (1), if a right is missing
// (77), or if ctx has ended. With an error it returns the last known state of the job, or nil.
func (a *API) Wait(ctx context.Context, name string, uid types.UID, say func(format string, args ...any)) (*v1alpha1.LaunchJob, error) {
	p := patience{say: say}
	said, began := "", time.Now()
	var last *v1alpha1.LaunchJob
	for {
		job, err := a.job(ctx, name)
		switch {
		case ctx.Err() != nil:
			return last, context.Cause(ctx)
		case apierrors.IsNotFound(err) && !isNoKind(err), err == nil && job.UID != uid:
			return last, failure.New(1, "", "job %s was deleted before it ended", name)
		case !p.again(err):
			return last, a.explain(ctx, "get job "+name, err)
		case err == nil:
			last = job
			if now := Sentence(job); now != said && (job.Status.Phase != "" || time.Since(began) > unseenFor) {
				say("%s", now)
				said = now
			}
			if Over(job) {
				return job, nil
			}
		}
		if !sleep(ctx, lookEvery) {
			return last, context.Cause(ctx)
		}
	}
}

// Sentence describes the state of a job in one line.
func Sentence(job *v1alpha1.LaunchJob) string {
	s := job.Status
	var b strings.Builder
	b.WriteString(job.Name)
	if s.Phase == "" {
		b.WriteString(": the controller has not seen it yet")
		return b.String()
	}
	b.WriteString(" " + s.Phase)
	if s.Ready != "" && !Over(job) {
		fmt.Fprintf(&b, ", %s ready", s.Ready)
	}
	if s.Attempt > 1 {
		fmt.Fprintf(&b, ", attempt %d", s.Attempt)
	}
	for _, text := range []string{s.Reason, s.Message} {
		if text != "" && text != s.Phase {
			b.WriteString(": " + strings.Join(strings.Fields(text), " "))
		}
	}
	if f := s.FirstFailure; f != nil && Over(job) {
		fmt.Fprintf(&b, "; first %s", failed(f))
	}
	return b.String()
}

// failed describes a first failure in words.
func failed(f *v1alpha1.FirstFailure) string {
	text := fmt.Sprintf("%s ended with %d", f.Pod, f.ExitCode)
	if f.Rank != nil {
		text = fmt.Sprintf("rank %d on %s", *f.Rank, text)
	}
	if f.Message != "" {
		text += ": " + strings.Join(strings.Fields(f.Message), " ")
	}
	return text
}
