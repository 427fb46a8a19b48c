package controller

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/controller/history"
	"github.com/musterhq/muster/agent/controller/reports"
	"github.com/musterhq/muster/agent/goodput"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/rendezvous"
)

// verdict is how a job ended.
type verdict struct {
	over    bool
	good    bool
	reason  string
	message string
	first   *v1alpha1.FirstFailure
	before  []v1alpha1.FailedAttempt // the agent's own attempts
	spent   goodput.Account          // what the workers' time was spent on; nil: unknown
	run     history.End              // attempts of the launcher; At is zero if no container decided
	again   bool                     // a new attempt of the pods may succeed
	evicted bool                     // Kueue has taken the pods away, so the next attempt waits in its queue
}

// settleFor is how long the members of a job without a launcher have to end after the first
// failure, or after the group has succeeded.
const settleFor = 30 * time.Second

// judgeJob decides whether the job has ended. An end before the deadline counts even if the controller
// sees it later, unless another attempt of the pods would follow.
func judgeJob(job *v1alpha1.LaunchJob, places []place, now time.Time) verdict {
	v := judgeEnd(job, places, now)
	d := deadline(job)
	if d == 0 || job.Status.StartTime == nil || now.Sub(job.Status.StartTime.Time) < d {
		return v
	}
	if v.over && v.run.At.Sub(job.Status.StartTime.Time) < d && !v.retried(job, max(job.Status.Attempt, 1)) {
		return v
	}
	v = verdict{over: true, reason: reasonDeadline, message: fmt.Sprintf("did not end within %s (activeDeadlineSeconds)", d)}
	if job.Status.Message != "" && job.Status.Phase != v1alpha1.PhaseRunning { // it was waiting
		v.message += "; before that: " + reports.Clip(job.Status.Message, 700)
	}
	return v
}

// retried reports whether another attempt of the pods follows this end of an attempt.
func (v verdict) retried(job *v1alpha1.LaunchJob, attempt int32) bool {
	return !v.good && v.again && attempt-job.Status.Evictions <= runPolicy(job).BackoffLimit
}

// judgeEnd decides whether the job has ended by its launcher, or by its members, which end together
// with the exit code of the group. After the success of the group, the job does not wait for a member that
// has lost the others or replaces a lost one: it would wait for them forever.
func judgeEnd(job *v1alpha1.LaunchJob, places []place, now time.Time) verdict {
	if len(places) > 0 && places[0].launcher() {
		if l := places[0]; l.stage == done {
			return l.verdict()
		}
		return verdict{}
	}
	deciding := deciders(job, places)
	var failed, final, won *place // the first that has failed, the first that is not replaced, and one that has succeeded
	waits, before := awaited(job, places), &steps{}
	pending, alive := len(deciding) == 0, false
	for i := range deciding {
		p := &deciding[i]
		pending, alive = pending || p.stage != done, alive || p.stage == starting || p.stage == running || p.stage == going
		if won == nil && p.stage == done && p.code == 0 {
			won = p
		}
		if p.stage != done || p.code == 0 {
			continue
		}
		if failed == nil || p.ended.Before(failed.ended) {
			failed = p
		}
		if (final == nil || p.ended.Before(final.ended)) && !(waits(p) && before.allows(job, p)) {
			final = p
		}
	}
	switch {
	case failed != nil && !pending:
		return failed.verdict().among(places)
	case final != nil && now.Sub(final.ended) >= settleFor:
		return final.verdict().among(places)
	case pending && (failed != nil || won == nil || builder{job: job}.unwrapped(won.slot) || alive && now.Sub(won.ended) < settleFor):
		return verdict{}
	}
	v := won.verdict()
	for _, p := range deciding { // the last end is the job's
		if p.ended.After(v.run.At) {
			v.run.At = p.ended
		}
	}
	return v
}

// deciders returns the pods whose end is the end of the job. Members that the agent starts end
// together, with the exit code that the success rule gives, so all of them count. If the image
// starts its command itself, the rule is applied here.
func deciders(job *v1alpha1.LaunchJob, places []place) []place {
	b := builder{job: job}
	rule := job.Spec.Success
	if rule == "" || rule == "auto" || rule == "all" || rule == "any" ||
		!slices.ContainsFunc(places, func(p place) bool { return b.unwrapped(p.slot) }) {
		return places
	}
	role, index, one := strings.Cut(rule, ":")
	return slices.DeleteFunc(slices.Clone(places), func(p place) bool {
		return p.role != role || one && strconv.Itoa(p.index) != index
	})
}

// verdict returns the verdict for the job, given the end of this pod.
func (p place) verdict() verdict {
	if p.code == 0 {
		return verdict{over: true, good: true, reason: reasonCompleted, message: p.name + " ended with 0", before: p.before, spent: p.spent, run: p.end()}
	}
	words := strings.TrimSpace(p.words)
	line, _, _ := strings.Cut(words, "\n")
	sentence := words
	if p.logged() {
		line = reports.LastLine(words)
		sentence = line
	}
	first := reports.Failure(sentence, p.pod.Name, p.code)
	first.Message = reports.Clip(words, 2000)
	reason := cmp.Or(p.cause, reasonExited)
	if p.launcher() && p.code == names.ExitHopeless && strings.HasPrefix(line, names.PreflightFailed) {
		reason = reasonPreflight
	}
	return verdict{over: true, reason: reason, message: cmp.Or(reports.Clip(line, 500), fmt.Sprintf("%s ended with %d", p.pod.Name, p.code)),
		first: &first, before: p.before, spent: p.spent, run: p.end(),
		again: p.code != names.ExitUsage && p.code != names.ExitForbidden && p.cause == "",
	}
}

// logged reports whether the last words of the container are the end of its log. See lastLines.
func (p place) logged() bool {
	for _, c := range p.pod.Spec.Containers {
		if c.Name == p.main {
			return !p.launcher() && c.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError
		}
	}
	return false
}

// among completes a failure that a member reported in another pod with the words and the exit code
// of that pod. It also reports which pods were lost.
func (v verdict) among(places []place) verdict {
	for _, p := range places {
		if p.pod != nil && p.pod.Name == v.first.Pod && p.stage == done && p.code != 0 {
			v.first.ExitCode, v.first.Message = p.code, reports.Clip(strings.TrimSpace(p.words), 2000)
		}
	}
	for _, p := range places {
		if p.why != "" && p.pod != nil {
			v.message += fmt.Sprintf("; pod %s was lost: %s", p.pod.Name, rendezvous.Explain(p.pod, p.main, time.Time{}).Brief)
		}
	}
	return v
}

func deadline(job *v1alpha1.LaunchJob) time.Duration {
	return time.Duration(ptr.Deref(runPolicy(job).ActiveDeadlineSeconds, 0)) * time.Second
}
