package controller

import (
	"cmp"
	"path"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/controller/reports"
	"github.com/musterhq/muster/exec/names"
)

// probe adds a readiness probe if the launcher may have something to report: a hang, a broken
// progress rule, or a restart in the same pods. The container is then not ready, and an event of the
// pod has the launcher's words. The launcher needs no rights for this.
func (b builder) probe(own *corev1.Container) {
	if b.job.Spec.HangAfter == nil && len(b.job.Spec.Progress) == 0 && maxRestarts(b.job) == 0 || own.ReadinessProbe != nil {
		return
	}
	agent := names.AgentPath
	if len(own.Command) > 0 && path.Base(own.Command[0]) == "agent" {
		agent = own.Command[0]
	}
	own.ReadinessProbe = &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{agent, "ready"}}},
		PeriodSeconds: 10, TimeoutSeconds: 10, FailureThreshold: 1, SuccessThreshold: 1,
	}
}

// unwell reports whether a running launcher has reported by its probe that something is wrong with
// the run. It returns false until the launcher has been ready once.
func (p place) unwell() bool {
	if !p.launcher() || p.stage != running || p.ready || p.pod.DeletionTimestamp != nil {
		return false
	}
	began, turned := p.status().State.Running.StartedAt, p.turned()
	return began.Before(&turned)
}

// turned returns when the pod last became not ready, or zero if it is ready.
func (p place) turned() (at metav1.Time) {
	for _, c := range p.pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse {
			at = c.LastTransitionTime
		}
	}
	return at
}

// wordsWithin is how long an event may come after the status of its pod.
const wordsWithin = 30 * time.Second

// listen reports what the launcher's probe says of a running job.
func listen(s *v1alpha1.LaunchJobStatus, sc scene) {
	if len(sc.places) == 0 || !sc.places[0].unwell() {
		if meta.IsStatusConditionTrue(s.Conditions, v1alpha1.Stalled) {
			set(s, v1alpha1.Stalled, false, obstacle{reasonMoves, "the launcher reports no problem"})
		}
		return
	}
	l := sc.places[0]
	words := reports.Trouble(sc.events, l.pod.UID)
	if words == "" && !sc.unread && sc.now.Sub(l.turned().Time) < wordsWithin {
		return // the event comes after the pod's status
	}
	why, kind := obstacle{reasonHang, cmp.Or(reports.Clip(words, 1000), l.pod.Name+" reports a hang, no progress or a restart; its log shows which")}, v1alpha1.Stalled
	other := v1alpha1.Restarting
	switch {
	case reports.Restarted(words):
		why.reason, kind, other = reasonRestart, v1alpha1.Restarting, v1alpha1.Stalled
	case reports.Stalled(words):
		why.reason = reasonStall
	}
	set(s, kind, true, why)
	if other == v1alpha1.Stalled || s.Phase == v1alpha1.PhaseRunning { // else pods are being replaced
		set(s, other, false, why)
	}
	s.Reason, s.Message = why.reason, why.message
}
