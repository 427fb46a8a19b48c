package rendezvous

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// PodEvents selects the events that may explain why a pod is not prepared.
const PodEvents = "involvedObject.kind=Pod,type=Warning"

// startEvents selects these events, and those about images. It names what it leaves out, because a
// selector cannot name several reasons.
const startEvents = "involvedObject.kind=Pod,reason!=Scheduled,reason!=Created,reason!=Started"

const (
	stuckAfter  = 5 * time.Second  // an ordinary start takes less
	eventsEvery = 10 * time.Second // time between two reads of events while a pod is stuck
)

// Stuck reports whether a node has been preparing the pod for so long that its events are worth
// reading.
func Stuck(pod *corev1.Pod, now time.Time) bool {
	if pod.Status.Phase != corev1.PodPending || pod.Spec.NodeName == "" || pod.DeletionTimestamp != nil {
		return false
	}
	r := Explain(pod, "", now)
	return r.Code == ContainerCreating && now.Sub(r.Since) >= stuckAfter
}

// preparing lists the reasons in events of the kubelet and of the attach controller for a pod that
// cannot be prepared.
var preparing = []Code{FailedMount, FailedAttachVolume, FailedMapVolume, FailedCreatePodSandBox, FailedPrepareDynamicResources, NetworkNotReady}

// Because replaces ContainerCreating by the cause in the pod's events. It returns other reasons
// unchanged. The events may belong to any pods.
func Because(r Reason, pod *corev1.Pod, events []corev1.Event) Reason {
	if r.Code != ContainerCreating {
		return r
	}
	var newest *corev1.Event
	for i := range events {
		e := &events[i]
		if e.InvolvedObject.UID != pod.UID || !slices.Contains(preparing, Code(e.Reason)) {
			continue
		}
		if newest == nil || telltale(e) && !telltale(newest) || telltale(e) == telltale(newest) && eventTime(e).After(eventTime(newest)) {
			newest = e
		}
	}
	if newest == nil {
		return r
	}
	r.Code, r.Brief = Code(newest.Reason), newest.Reason+": "+clip(newest.Message, 160)
	r.Sentence = fmt.Sprintf("%s: node %s cannot prepare it%s: %s: %s", pod.Name, pod.Spec.NodeName, strings.Replace(lasting(r.Since, eventTime(newest)), " for ", " after ", 1), newest.Reason, clip(newest.Message, 500))
	r.Hint = volumeHint(newest.Message, pod)
	return r
}

// telltale reports whether the event says more than which volumes timed out.
func telltale(e *corev1.Event) bool {
	return !strings.HasPrefix(e.Message, "Unable to attach or mount volumes")
}

func eventTime(e *corev1.Event) time.Time {
	if e.Series != nil {
		return e.Series.LastObservedTime.Time
	}
	if !e.LastTimestamp.IsZero() {
		return e.LastTimestamp.Time
	}
	return e.EventTime.Time
}

var (
	absentObject = regexp.MustCompile(`(?i)\b(configmap|secret|persistentvolumeclaim|resourceclaim)s? "([^"]+)" not found`)
	absentDriver = regexp.MustCompile(`driver name (\S+) not found in the list of registered CSI drivers`)
)

// volumeHint returns the hint for the message of an event.
func volumeHint(message string, pod *corev1.Pod) string {
	where := or(pod.Namespace, corev1.NamespaceDefault)
	if m := absentObject.FindStringSubmatch(message); m != nil {
		return fmt.Sprintf("create %s %s in namespace %s, or correct the volumes of the pod's template", strings.ToLower(m[1]), m[2][strings.LastIndex(m[2], "/")+1:], where)
	}
	if m := absentDriver.FindStringSubmatch(message); m != nil {
		return fmt.Sprintf("install CSI driver %s on node %s: kubectl get csinode %s", m[1], pod.Spec.NodeName, pod.Spec.NodeName)
	}
	return fmt.Sprintf("correct the volumes or the network of the pod: kubectl describe pod %s -n %s", pod.Name, where)
}

// unread adds that the cause is in events that the launcher may not read.
func unread(r Reason, namespace string) Reason {
	r.Sentence += "; its events say why, and the launcher may not read them"
	r.Hint = fmt.Sprintf(`add this rule to the Role of the launcher's ServiceAccount in namespace %s to see the cause here: {apiGroups: [""], resources: ["events"], verbs: ["list"]}; or `+
		"kubectl describe pod %s -n %s", or(namespace, corev1.NamespaceDefault), r.Pod, or(namespace, corev1.NamespaceDefault))
	return r
}

// followEvents reads the pods' events while one of the pods is stuck. It returns when ctx ends. It
// reports no failure except a missing right, because the watch of the pods shows whether the API
// server answers.
func (w Watch) followEvents(ctx context.Context, v *view) {
	for {
		sleep(ctx, w.Events)
		if ctx.Err() != nil {
			return
		}
		if !v.stuck(time.Now()) {
			continue
		}
		asking, cancel := context.WithTimeout(ctx, w.Timeout)
		var list corev1.EventList
		err := w.Client.Get().Namespace(w.Namespace).Resource("events").MaxRetries(0).Param("fieldSelector", startEvents).Do(asking).Into(&list)
		cancel()
		if err == nil || apierrors.IsForbidden(err) {
			v.tell(list.Items, err != nil)
		}
	}
}

func (v *view) stuck(now time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, pod := range v.pods {
		if Stuck(pod, now) {
			return true
		}
	}
	return false
}

// tell keeps the warnings about known pods, and what the kubelet says about their images.
func (v *view) tell(events []corev1.Event, denied bool) {
	v.mu.Lock()
	v.events, v.unread = nil, denied
	for _, e := range events {
		wanted := e.Type != corev1.EventTypeNormal || e.Reason == "Pulling" || e.Reason == "Pulled"
		if pod := v.pods[e.InvolvedObject.Name]; wanted && pod != nil && pod.UID == e.InvolvedObject.UID {
			v.events = append(v.events, e)
		}
	}
	v.mu.Unlock()
	v.mark()
}
