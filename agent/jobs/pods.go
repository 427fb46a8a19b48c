package jobs

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/rendezvous"
)

// jobPod is a pod of a job, and its place in the job.
type jobPod struct {
	pod  *corev1.Pod
	name string // without the job's name: launcher, worker-3, ps-0
	role string
	rank int // among all except the launcher, which has -1
}

// podsOf orders the pods of a job: the launcher first, then by rank. Of two pods for one place
// the older comes first.
func podsOf(job string, pods []corev1.Pod) []jobPod {
	var all []jobPod
	for i := range pods {
		p := &pods[i]
		plain := cmp.Or(p.Labels[names.LabelPod], p.Name)
		m := jobPod{pod: p, name: strings.TrimPrefix(plain, job+"-"), role: p.Labels[names.LabelRole], rank: -1}
		if m.role != names.RoleLauncher {
			if n, err := strconv.Atoi(p.Labels[names.LabelIndex]); err == nil {
				m.rank = n
			}
			m.role = cmp.Or(p.Labels[names.LabelReplicaType], m.role)
		}
		all = append(all, m)
	}
	slices.SortStableFunc(all, func(a, b jobPod) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), a.pod.CreationTimestamp.Compare(b.pod.CreationTimestamp.Time), cmp.Compare(a.name, b.name))
	})
	return all
}

// container returns the requested container, or by default the one that decides for the pod.
func (m jobPod) container(asked string) string {
	if asked = cmp.Or(asked, m.pod.Annotations[names.AnnotationDefaultContainer]); asked != "" || len(m.pod.Spec.Containers) == 0 {
		return asked
	}
	return m.pod.Spec.Containers[0].Name
}

// containers returns the names of all containers of the pod, of every type.
func (m jobPod) containers() (all []string) {
	for _, c := range m.pod.Spec.Containers {
		all = append(all, c.Name)
	}
	for _, c := range m.pod.Spec.InitContainers {
		all = append(all, c.Name)
	}
	for _, c := range m.pod.Spec.EphemeralContainers {
		all = append(all, c.Name)
	}
	return all
}

func (m jobPod) has(container string) bool { return slices.Contains(m.containers(), container) }

// begun reports whether the container has, or had, a log.
func begun(pod *corev1.Pod, container string) bool {
	if over(pod) {
		return true
	}
	s := statusOf(pod, container)
	return s != nil && (s.State.Running != nil || s.State.Terminated != nil || s.LastTerminationState.Terminated != nil)
}

// done reports whether the container has ended. It may be paused.
func done(pod *corev1.Pod, container string) bool {
	if over(pod) {
		return true
	}
	s := statusOf(pod, container)
	return s != nil && s.State.Terminated != nil
}

// paused reports whether the container has ended and its kubelet starts it again in its pod, where it
// gets another log. Rules in the template of a LaunchJob may want that.
func paused(pod *corev1.Pod, container string) bool {
	s := statusOf(pod, container)
	switch {
	case s == nil || over(pod):
		return false
	case s.State.Terminated != nil:
		return rendezvous.Restarts(pod, container, s.State.Terminated.ExitCode)
	}
	return s.State.Waiting != nil && s.LastTerminationState.Terminated != nil
}

// runOf returns how often the container was restarted.
func runOf(pod *corev1.Pod, container string) int32 {
	if s := statusOf(pod, container); s != nil {
		return s.RestartCount
	}
	return 0
}

func over(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func statusOf(pod *corev1.Pod, container string) *corev1.ContainerStatus {
	for _, list := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses, pod.Status.EphemeralContainerStatuses} {
		if i := slices.IndexFunc(list, func(s corev1.ContainerStatus) bool { return s.Name == container }); i >= 0 {
			return &list[i]
		}
	}
	return nil
}
