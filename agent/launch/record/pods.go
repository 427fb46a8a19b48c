//go:build linux

package record

import (
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/rendezvous"
)

// podsSeen is what has been noted of each pod, by uid.
type podsSeen struct {
	mu      sync.Mutex
	seen    map[string]noted
	reasons map[string]rendezvous.Code // by name: why a worker is not ready
	waiting map[string]int             // workers that are not ready, by reason; nil: nothing counts them
}

// noted is what has been noted of one pod.
type noted struct {
	created, queued, scheduled, pulling, pulled bool
	node                                        string
	starts                                      int32 // starts of the container
}

// Pods notes the changes in a snapshot of the workers' pods. pick returns the worker's container in
// a pod. It notes nothing while the API server does not answer.
func (l *Log) Pods(shot rendezvous.Snapshot, pick rendezvous.Containers) {
	if l == nil || shot.Err != nil {
		return
	}
	l.pods.mu.Lock()
	defer l.pods.mu.Unlock()
	seen := make(map[string]noted, len(shot.Pods)) // pods that no longer exist are forgotten
	for _, pod := range shot.Pods {
		n := l.pods.seen[string(pod.UID)]
		l.pod(pod, pick, &n)
		seen[string(pod.UID)] = n
	}
	for i := range shot.Events {
		e := &shot.Events[i]
		if n, ok := seen[string(e.InvolvedObject.UID)]; ok {
			l.pull(e, &n)
			seen[string(e.InvolvedObject.UID)] = n
		}
	}
	l.pods.seen = seen
}

// pod notes the changes of one pod.
func (l *Log) pod(pod *corev1.Pod, pick rendezvous.Containers, n *noted) {
	if !n.created {
		n.created = true
		l.WorkerAt(pod.CreationTimestamp.Time, event.PodCreated, pod.Name, "", "")
	}
	node := pod.Spec.NodeName
	n.node = node
	n.queued = n.queued || node == ""
	if !n.scheduled && node != "" {
		n.scheduled = true
		l.WorkerAt(scheduledAt(pod, n.queued), event.PodScheduled, pod.Name, node, "")
	}
	name, err := pick.Pick(pod)
	if err != nil {
		return
	}
	for i := range pod.Status.ContainerStatuses {
		s := &pod.Status.ContainerStatuses[i]
		if s.Name == name && s.State.Running != nil && n.starts <= s.RestartCount {
			n.starts = s.RestartCount + 1
			l.WorkerAt(s.State.Running.StartedAt.Time, event.ContainerStarted, pod.Name, node, "")
		}
	}
}

// scheduledAt returns when the pod was scheduled. A pod whose template names its node has no such
// condition. queued means that the pod was seen without a node before.
func scheduledAt(pod *corev1.Pod, queued bool) time.Time {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	if queued {
		return time.Now()
	}
	return pod.CreationTimestamp.Time
}

// pull notes the kubelet's events about the image of a pod.
func (l *Log) pull(e *corev1.Event, n *noted) {
	at := e.FirstTimestamp.Time
	if at.IsZero() {
		at = e.EventTime.Time
	}
	switch {
	case at.IsZero():
	case e.Reason == "Pulling" && !n.pulling:
		n.pulling = true
		l.WorkerAt(at, event.ImagePulling, e.InvolvedObject.Name, n.node, e.Message)
	case e.Reason == "Pulled" && !n.pulled && n.pulling:
		n.pulled = true
		l.WorkerAt(at, event.ImagePulled, e.InvolvedObject.Name, n.node, e.Message)
	}
}

// Reasons notes why workers are not ready, if that is unusual and has changed.
func (l *Log) Reasons(waiting []rendezvous.Line) {
	if l == nil {
		return
	}
	l.pods.mu.Lock()
	defer l.pods.mu.Unlock()
	for _, w := range waiting {
		if w.Name == "" || l.pods.reasons[w.Name] == w.Reason.Code || w.Reason.Ordinary() {
			continue
		}
		if l.pods.reasons == nil {
			l.pods.reasons = map[string]rendezvous.Code{}
		}
		l.pods.reasons[w.Name] = w.Reason.Code
		l.WorkerAt(waitsSince(w.Reason), event.Waiting, w.Name, "", w.Reason.Brief)
	}
}

// waitsSince returns when the wait for a node began, and for other reasons the time when they are
// seen. A launcher may see the reason only in the second in which it ends.
func waitsSince(r rendezvous.Reason) time.Time {
	if r.Since.IsZero() || r.Code != rendezvous.Unschedulable && r.Code != rendezvous.SchedulingGated {
		return time.Now()
	}
	return r.Since
}

// mostDetail is the length of a detail in bytes. Longer ones are cut.
const mostDetail = 300

// brief returns text as one line that is not too long.
func brief(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= mostDetail {
		return text
	}
	return strings.ToValidUTF8(text[:mostDetail-3], "") + "..."
}
