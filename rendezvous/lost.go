package rendezvous

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/exec/names"
)

// Loss is a worker of a running job that is lost or about to be.
type Loss struct {
	Worker Worker // as it was at the start
	Reason Reason
	// Gone means that its processes no longer exist. Otherwise the pod only looks bad (not Ready,
	// being deleted), and the link decides.
	Gone bool
	// Leaving means that the pod is being deleted, drained or preempted and that its processes are
	// in their grace period. It excludes Gone.
	Leaving bool
	// Replaced means that the owner of the pod has given it up: another pod has its plain name
	// (names.LabelPod).
	Replaced bool
}

// Lost compares the workers with which a job started with a newer Snapshot, in the order of the
// workers. A Snapshot with an error contains nothing new, so Lost returns nil.
func Lost(started []Worker, s Snapshot, now time.Time) []Loss {
	if s.Err != nil {
		return nil
	}
	byName, newest := make(map[string]*corev1.Pod, len(s.Pods)), map[string]*corev1.Pod{}
	for _, pod := range s.Pods {
		byName[pod.Name] = pod
		plain := pod.Labels[names.LabelPod]
		if have := newest[plain]; plain != "" && (have == nil || have.CreationTimestamp.Before(&pod.CreationTimestamp)) {
			newest[plain] = pod
		}
	}
	var losses []Loss
	for _, w := range started {
		if reason, gone := lost(w, byName[w.Name], now); !reason.OK() {
			reason.Pod = w.Name
			loss := Loss{Worker: w, Reason: reason, Gone: gone}
			if !gone {
				pod := byName[w.Name]
				next := newest[pod.Labels[names.LabelPod]]
				loss.Leaving, loss.Replaced = leaving(pod), next != nil && next.UID != pod.UID
			}
			losses = append(losses, loss)
		}
	}
	return losses
}

// leaving reports whether the pod is being deleted or disrupted.
func leaving(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil || condition(pod, corev1.DisruptionTarget).Status == corev1.ConditionTrue
}

// departing returns the reason of a pod that is being deleted or disrupted.
func departing(w Worker, pod *corev1.Pod) Reason {
	c := condition(pod, corev1.DisruptionTarget)
	return Reason{
		Code: Preempted, Brief: "DisruptionTarget: " + c.Reason, Since: c.LastTransitionTime.Time,
		Sentence: fmt.Sprintf("%s: will be removed from node %s: %s", w.Name, w.Node, or(clip(c.Message, 300), c.Reason)),
		Hint:     "save a checkpoint; the pod has its termination grace period left",
	}
}

func lost(w Worker, pod *corev1.Pod, now time.Time) (reason Reason, gone bool) {
	if pod == nil {
		return Reason{
			Code: Missing, Permanent: true, Brief: "Missing: the pod was deleted",
			Sentence: w.Name + ": the pod was deleted while the job ran",
			Hint:     "see who deleted it: kubectl get events -n " + or(w.Namespace, "default"),
		}, true
	}
	if string(pod.UID) != w.UID {
		return Reason{
			Code: Missing, Permanent: true, Brief: "Missing: the pod was replaced",
			Sentence: fmt.Sprintf("%s: the pod was replaced while the job ran (uid %s, now %s)", w.Name, w.UID, pod.UID),
			Hint:     "the processes of the old pod have ended; the job must restart",
		}, true
	}
	is := FromPod(pod, w.Container)
	if is.Finished || is.Terminating || !is.Running {
		r := Explain(pod, w.Container, now)
		if r.Code == Completed { // it runs until a launcher or a signal ends it
			r.Brief = "Completed: container " + w.Container + " ended while the job ran"
			r.Sentence = fmt.Sprintf("%s: container %s ended with exit code 0 while the job ran", w.Name, w.Container)
			r.Hint = "another launcher of the same job may have stopped it; " + explainer{pod: pod}.logs(w.Container, false)
		}
		if r.OK() { // a Failed pod whose status still says running
			r = Reason{Code: Error, Brief: "Error: the pod has ended", Sentence: w.Name + ": the pod has ended (" + string(pod.Status.Phase) + ")"}
		}
		// The job runs: nothing waits anymore.
		r.Sentence = strings.TrimSuffix(r.Sentence, waitingForReplacement)
		// The processes of a terminating pod may use their grace period to save their work.
		return r, is.Finished || !is.Running
	}
	if is.Restarts != w.Restarts || w.ContainerID != "" && is.ContainerID != w.ContainerID {
		return restarted(w, pod), true
	}
	if leaving(pod) {
		return departing(w, pod), false
	}
	r := Explain(pod, w.Container, now)
	if r.Code != NodeLost && r.Code != NotReady {
		return Reason{}, false
	}
	return r, false
}

// restarted says, from the last state, how the container ended in between.
func restarted(w Worker, pod *corev1.Pod) Reason {
	r := Reason{
		Code: Error, Permanent: true, Brief: "Error: container " + w.Container + " was restarted",
		Sentence: fmt.Sprintf("%s: container %s was restarted while the job ran", w.Name, w.Container),
		Hint:     fmt.Sprintf("see kubectl logs %s -c %s -n %s --previous", w.Name, w.Container, or(w.Namespace, "default")),
	}
	if changed := sizeOf(pod, w.Container).Changed(w.Size); changed != "" && restartsForSize(pod, w.Container) {
		r.Sentence += ", as its resizePolicy says for a resize: " + changed
	}
	s := containerStatus(pod, w.Container)
	t := s.LastTerminationState.Terminated
	if t == nil {
		return r
	}
	r.Since = t.FinishedAt.Time
	if t.Reason == "OOMKilled" {
		r.Code, r.Brief = OOMKilled, "OOMKilled: container "+w.Container
		r.Sentence += "; it had been killed for its memory (OOMKilled)"
		r.Hint = memoryLimit(pod, w.Container).hint()
		return r
	}
	r.Sentence += "; it had ended with " + ended(*t)
	if why := clip(telling(t.Message), 200); why != "" {
		r.Sentence += ": " + why
	}
	return r
}
