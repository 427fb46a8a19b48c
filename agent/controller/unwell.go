package controller

import (
	"cmp"
	"path"
	"regexp"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/exec/names"
)

// probe has the kubelet ask the launcher what is wrong with the run, where it may have
// something to tell: a hang, a broken progress rule, or a restart in the same pods. A
// launcher needs no right for that. The container is not ready then, and an event of the
// pod has the launcher's words.
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

// unwell reports whether a launcher that runs has said, by its probe, that something is
// wrong with the run. It says nothing before it was ready once.
func (p place) unwell() bool {
	if !p.launcher() || p.stage != running || p.ready || p.pod.DeletionTimestamp != nil {
		return false
	}
	began, turned := p.status().State.Running.StartedAt, p.turned()
	return began.Before(&turned)
}

// turned is when the pod was last found not ready, zero if it is ready.
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

// aRestart is how the launcher announces another attempt.
var aRestart = regexp.MustCompile(`^attempt \d+ of \d+`)

// aStall is how it announces a broken progress rule.
var aStall = regexp.MustCompile(`^(no progress|failed line)`)

// probed is the kubelet's event of `agent ready` that failed, in a log format of either
// kind; the launcher's words follow.
var probed = regexp.MustCompile(`(?s)^Readiness probe failed: .*?\bready: (.*?)"?\}?\s*$`)

// trouble returns the newest words of the launcher's probe, "" where they are not there or
// the controller may not read events.
func (p place) trouble(events []corev1.Event) (words string) {
	var newest metav1.Time
	for _, e := range events {
		if said := probed.FindStringSubmatch(e.Message); said != nil && e.InvolvedObject.UID == p.pod.UID && !e.LastTimestamp.Before(&newest) {
			words, newest = said[1], e.LastTimestamp
		}
	}
	return words
}

// listen says what the launcher's probe tells of a job that runs.
func listen(s *v1alpha1.LaunchJobStatus, sc scene) {
	if len(sc.places) == 0 || !sc.places[0].unwell() {
		if meta.IsStatusConditionTrue(s.Conditions, v1alpha1.Stalled) {
			set(s, v1alpha1.Stalled, false, obstacle{reasonMoves, "the launcher reports nothing"})
		}
		return
	}
	l := sc.places[0]
	words := l.trouble(sc.events)
	if words == "" && !sc.unread && sc.now.Sub(l.turned().Time) < wordsWithin {
		return // the event comes after the pod's status
	}
	why, kind := obstacle{reasonHang, cmp.Or(clip(words, 1000), l.pod.Name+" reports a hang, no progress or a restart, and its log says which")}, v1alpha1.Stalled
	switch {
	case aRestart.MatchString(words):
		why.reason, kind = reasonRestart, v1alpha1.Restarting
	case aStall.MatchString(words):
		why.reason = reasonStall
	}
	set(s, kind, true, why)
	s.Reason, s.Message = why.reason, why.message
}
