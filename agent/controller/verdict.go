package controller

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/names"
)

// verdict is how a job ended.
type verdict struct {
	over    bool
	good    bool
	reason  string
	message string
	first   *v1alpha1.FirstFailure
	again   bool // a new run of the pods may do better
}

// Reasons of ends, and of what is in a job's way, beside those of rendezvous.
const (
	reasonCompleted = "Completed"
	reasonExited    = "Failed"
	reasonDeadline  = "DeadlineExceeded"
	reasonRefused   = "Refused"
	reasonRejected  = "Rejected"
	reasonTaken     = "NameTaken"
	reasonNoGang    = "NoGangScheduler"
	reasonSuspended = "Suspended"
	reasonAgain     = "PodsMadeAnew"
	reasonLaunched  = "Launched"
	reasonWaiting   = "Waiting"
	reasonLost      = "WorkerLost"
	reasonTooLarge  = "TooLarge"
	reasonFailing   = "ReconcileFailed"
	reasonHang      = "Hang"
	reasonRestart   = "Restarted"
	reasonMoves     = "Moving"
)

// settleFor is how long the members of a job without a launcher have to end
// together, after the first that failed.
const settleFor = 30 * time.Second

// judgeJob decides whether the job has ended: by its launcher, or by its members,
// who end together with the group's code.
func judgeJob(job *v1alpha1.LaunchJob, places []place, now time.Time) verdict {
	if d := deadline(job); d > 0 && job.Status.StartTime != nil && now.Sub(job.Status.StartTime.Time) >= d {
		v := verdict{over: true, reason: reasonDeadline, message: fmt.Sprintf("it has not ended within %s (activeDeadlineSeconds)", d)}
		if job.Status.Message != "" && job.Status.Phase != v1alpha1.PhaseRunning { // it waited
			v.message += "; it waited: " + clip(job.Status.Message, 700)
		}
		return v
	}
	if len(places) > 0 && places[0].launcher() {
		if l := places[0]; l.stage == done {
			return l.verdict()
		}
		return verdict{}
	}
	deciding := deciders(job, places)
	var failed *place // the first that has
	pending := len(deciding) == 0
	for i := range deciding {
		p := &deciding[i]
		pending = pending || p.stage != done
		if p.stage == done && p.code != 0 && (failed == nil || p.ended.Before(failed.ended)) {
			failed = p
		}
	}
	switch {
	case failed != nil && (!pending || now.Sub(failed.ended) >= settleFor):
		return failed.verdict()
	case pending:
		return verdict{}
	}
	return deciding[0].verdict()
}

// deciders are the pods whose end is the job's. Members that the agent starts end
// together, with the code that the rule of success gives, so that all count;
// where the image starts by itself the rule is applied here.
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

// verdict is the job's, by the end of this pod.
func (p place) verdict() verdict {
	if p.code == 0 {
		return verdict{over: true, good: true, reason: reasonCompleted, message: p.pod.Name + " ended with 0"}
	}
	words := strings.TrimSpace(p.words)
	line, _, _ := strings.Cut(words, "\n")
	v := verdict{over: true, reason: cmp.Or(p.cause, reasonExited), message: cmp.Or(clip(line, 500), fmt.Sprintf("%s ended with %d", p.pod.Name, p.code)),
		first: &v1alpha1.FirstFailure{Pod: p.pod.Name, ExitCode: p.code, Message: clip(words, 2000)},
		again: p.code != names.ExitUsage && p.code != names.ExitForbidden && p.cause == "",
	}
	if m := rankOn.FindStringSubmatch(words); m != nil {
		rank, _ := strconv.Atoi(m[1])
		v.first.Rank, v.first.Pod = new(int32(rank)), cmp.Or(m[2], p.pod.Name)
	}
	return v
}

func deadline(job *v1alpha1.LaunchJob) time.Duration {
	return time.Duration(ptr.Deref(runPolicy(job).ActiveDeadlineSeconds, 0)) * time.Second
}

// rankOn finds rank and pod in the agent's sentence "rank 3 on pi-worker-1 ...".
var rankOn = regexp.MustCompile(`\brank (\d{1,9})\b(?:\S*(?: \S+){0,2}? on \(?([-a-z0-9.]*[a-z0-9]))?`)

func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}
