package controller

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/names"
	"github.com/musterhq/muster/rendezvous"
)

// scene is what a status is made from.
type scene struct {
	slots   []slot
	places  []place
	steps   steps
	verdict verdict
	blocked *obstacle // what the API server, or a gang's scheduler, said
	now     time.Time
	version string
}

// newStatus describes the scene. It changes nothing but the copy that it returns.
func newStatus(job *v1alpha1.LaunchJob, sc scene) v1alpha1.LaunchJobStatus {
	s := job.Status.DeepCopy()
	s.ObservedGeneration = job.Generation
	s.Attempt = max(s.Attempt, 1)
	s.Selector = names.LabelJob + "=" + job.Name + "," + names.LabelRole + "=" + names.RoleWorker
	ready, wanted := count(s, sc)
	if !sc.verdict.over { // the last word of the run stays
		s.Ready = fmt.Sprintf("%d/%d", ready, wanted)
	}
	remember(s, sc)
	switch {
	case sc.verdict.over:
		finish(s, job, sc)
	case suspended(job):
		s.StartTime = nil
		say(s, v1alpha1.PhaseSuspended, reasonSuspended, "runPolicy.suspend is true")
		setCondition(s, job, v1alpha1.Suspended, true, reasonSuspended, "runPolicy.suspend is true")
		setCondition(s, job, v1alpha1.WorkersReady, false, reasonSuspended, "")
		setCondition(s, job, v1alpha1.Launched, false, reasonSuspended, "")
	default:
		if s.StartTime == nil {
			s.StartTime = &metav1.Time{Time: sc.now}
		}
		if meta.FindStatusCondition(s.Conditions, v1alpha1.Suspended) != nil {
			setCondition(s, job, v1alpha1.Suspended, false, "Resumed", "")
		}
		progress(s, job, sc, ready == wanted)
	}
	return *s
}

// count fills in the counts of the roles.
func count(s *v1alpha1.LaunchJobStatus, sc scene) (ready, wanted int) {
	var roles []v1alpha1.RoleStatus
	s.Workers = 0
	led := len(sc.places) > 0 && sc.places[0].launcher()
	for _, p := range sc.places {
		i := slices.IndexFunc(roles, func(r v1alpha1.RoleStatus) bool { return r.Name == p.role })
		if i < 0 {
			i, roles = len(roles), append(roles, v1alpha1.RoleStatus{Name: p.role})
		}
		r := &roles[i]
		r.Desired++
		if p.pod != nil && p.role == names.RoleWorker {
			s.Workers++
		}
		switch {
		case p.stage == done && p.code == 0:
			r.Succeeded++
		case p.stage == done:
			r.Failed++
		case p.pod != nil:
			r.Active++
		}
		if p.ready {
			r.Ready++
		}
		if !p.launcher() {
			wanted++
			if p.ready || p.stage == done && (p.code == 0 || !led) { // it was there
				ready++
			}
		}
	}
	s.Roles = roles
	return ready, wanted
}

// remember keeps what is seen once: pods made anew, images.
func remember(s *v1alpha1.LaunchJobStatus, sc scene) {
	s.Replaced = append(s.Replaced, sc.steps.record...)
	if n := len(s.Replaced); n > 64 {
		s.Replaced = s.Replaced[n-64:]
	}
	s.Replacements += sc.steps.counts
	if s.Agent == nil {
		s.Agent = &v1alpha1.AgentStatus{Version: sc.version}
	}
	for i := range sc.places {
		p := &sc.places[i]
		if p.pod == nil {
			continue
		}
		if id := p.status().ImageID; id != "" && !slices.Contains(s.Agent.Images, id) && len(s.Agent.Images) < 16 {
			s.Agent.Images = append(s.Agent.Images, id)
		}
	}
}

// finish says how the job ended, or that its pods begin again.
func finish(s *v1alpha1.LaunchJobStatus, job *v1alpha1.LaunchJob, sc scene) {
	v := sc.verdict
	if s.FirstFailure == nil {
		s.FirstFailure = v.first
	}
	if !v.good && v.again && s.Attempt <= runPolicy(job).BackoffLimit {
		s.Attempt++
		message := fmt.Sprintf("attempt %d, with new pods: %s", s.Attempt, v.message)
		say(s, v1alpha1.PhaseRestarting, reasonAgain, message)
		setCondition(s, job, v1alpha1.Restarting, true, reasonAgain, message)
		setCondition(s, job, v1alpha1.Launched, false, reasonAgain, message)
		return
	}
	s.CompletionTime = &metav1.Time{Time: sc.now}
	phase, kind := v1alpha1.PhaseFailed, v1alpha1.Failed
	if v.good {
		phase, kind = v1alpha1.PhaseSucceeded, v1alpha1.Succeeded
	}
	say(s, phase, v.reason, v.message)
	setCondition(s, job, kind, true, v.reason, v.message)
	if meta.IsStatusConditionTrue(s.Conditions, v1alpha1.Restarting) {
		setCondition(s, job, v1alpha1.Restarting, false, v.reason, v.message)
	}
}

// progress says what a job that is to run is doing, and what is in its way.
func progress(s *v1alpha1.LaunchJobStatus, job *v1alpha1.LaunchJob, sc scene, allReady bool) {
	launched := meta.IsStatusConditionTrue(s.Conditions, v1alpha1.Launched)
	up := len(sc.places) > 0 && (!sc.places[0].launcher() || sc.places[0].stage == running)
	gone := slices.ContainsFunc(sc.places, func(p place) bool { return p.stage != running && p.stage != done })
	if allReady {
		setCondition(s, job, v1alpha1.WorkersReady, true, "Ready", s.Ready)
	}
	switch {
	case allReady && up:
		setCondition(s, job, v1alpha1.Launched, true, reasonLaunched, "launcher and workers run")
		if meta.IsStatusConditionTrue(s.Conditions, v1alpha1.Restarting) {
			setCondition(s, job, v1alpha1.Restarting, false, reasonLaunched, "launcher and workers run")
		}
		fallthrough
	case launched && !gone && sc.blocked == nil: // pods end, and the launcher knows
		say(s, v1alpha1.PhaseRunning, "", "")
		return
	}
	o := worst(sc)
	if !allReady {
		setCondition(s, job, v1alpha1.WorkersReady, false, o.reason, o.message)
	}
	phase := v1alpha1.PhaseWaiting
	switch {
	case launched && gone:
		phase = v1alpha1.PhaseRestarting
		setCondition(s, job, v1alpha1.Restarting, true, o.reason, o.message)
	case launched:
		phase = v1alpha1.PhaseRunning
	case s.Phase == v1alpha1.PhaseRestarting:
		phase = s.Phase
	}
	say(s, phase, o.reason, o.message)
}

// worst picks the reason that a user wants to hear first, of the pods that are
// not ready: one that does not pass by itself before one that every start passes
// through. What the API server says comes before all.
func worst(sc scene) obstacle {
	if sc.blocked != nil {
		return *sc.blocked
	}
	var list []rendezvous.Reason
	for _, p := range sc.places {
		if p.ready || p.pod == nil || p.stage == done && p.code == 0 {
			continue
		}
		if r := rendezvous.Explain(p.pod, p.container, sc.now); !r.OK() {
			list = append(list, r)
		}
	}
	if len(list) == 0 {
		return obstacle{reasonWaiting, "pods are being made"}
	}
	first := list[max(0, slices.IndexFunc(list, func(r rendezvous.Reason) bool { return !r.Ordinary() }))]
	var parts []string
	for _, r := range list {
		if r.Code == first.Code && len(parts) < 3 {
			parts = append(parts, r.Pod+" "+r.Brief)
		}
	}
	if more := len(list) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more pods", more))
	}
	return obstacle{string(first.Code), clip(strings.Join(parts, "; "), 1000)}
}

func setCondition(s *v1alpha1.LaunchJobStatus, job *v1alpha1.LaunchJob, kind string, yes bool, reason, message string) {
	c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message, ObservedGeneration: job.Generation}
	if yes {
		c.Status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&s.Conditions, c)
}

func say(s *v1alpha1.LaunchJobStatus, phase, reason, message string) {
	s.Phase, s.Reason, s.Message = phase, reason, message
}

// unscheduled: pods wait for a node, and their gang's object may say why.
func unscheduled(places []place) bool {
	return slices.ContainsFunc(places, func(p place) bool {
		return p.stage == starting && p.pod.Spec.NodeName == "" && p.pod.Status.Phase == corev1.PodPending
	})
}
