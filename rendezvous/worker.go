package rendezvous

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/exec/names"
)

// Worker is one pod of the job as the launcher needs it.
type Worker struct {
	Name        string // the name of the pod
	Namespace   string
	UID         string
	IP          string // "" until the kubelet reports it
	Node        string
	Hostname    string   // within the pod
	Container   string   // where the agent runs; "" if the choice is ambiguous
	ContainerID string   // of the running container; changes with each restart
	Index       int      // from a label or from the name; -1: none
	Labelled    bool     // Index comes from a label, so two workers must not share it
	Given       int      // 1 plus the place that Kueue or JobSet gave the pod, which comes before Index; 0: none
	Slots       int      // from names.AnnotationSlots; 0: as configured for the job
	Size        Size     // limits that the kubelet has applied
	Refused     Refusal  // a resize that does not happen
	Role        string   // role in the job's framework, from a label; "" if not known
	GPUs        int      // that its container may use, by its limits
	Devices     int      // the part of GPUs that are whole devices, not shares or parts of one
	RDMA        int      // RDMA devices that its container may use, by its limits
	Env         []string // of its container, K=V, for values in the pod's spec
	HostNetwork bool
	Created     time.Time
	Grace       time.Duration // the pod's terminationGracePeriodSeconds; 0 if not known
	Restarts    int
	Running     bool              // the container runs: a link can be tried
	Terminating bool              // deletion has begun
	Finished    bool              // phase Succeeded or Failed
	Labels      map[string]string // of the pod
	Located     string            // its names.AnnotationTopology
}

// live reports whether the pod is a worker or can still become one.
func (w Worker) live() bool { return !w.Terminating && !w.Finished }

// FromPod reads a worker from its pod. container is the one that Containers.Pick chose.
func FromPod(pod *corev1.Pod, container string) Worker {
	index, labelled := indexOf(pod)
	w := Worker{
		Name: pod.Name, Namespace: pod.Namespace, UID: string(pod.UID),
		IP: pod.Status.PodIP, Node: pod.Spec.NodeName,
		Hostname:  pod.Spec.Hostname,
		Container: container, Index: index, Labelled: labelled, Given: givenTo(pod),
		Role: pod.Labels[names.LabelReplicaType], GPUs: gpusOf(pod, container), Devices: limitsOf(pod, container, isDevice), RDMA: limitsOf(pod, container, isRDMA), Env: envOf(pod, container),
		HostNetwork: pod.Spec.HostNetwork, Created: pod.CreationTimestamp.Time,
		Terminating: pod.DeletionTimestamp != nil,
		Finished:    pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded,
		Labels:      pod.Labels, Located: pod.Annotations[names.AnnotationTopology],
	}
	if w.Hostname == "" {
		w.Hostname = pod.Name
	}
	w.Grace = GraceOf(pod)
	w.Slots, w.Size, w.Refused = slotsOf(pod), sizeOf(pod, container), refusalOf(pod)
	if s := containerStatus(pod, container); s != nil {
		w.Restarts = int(s.RestartCount)
		w.Running = s.State.Running != nil
		if w.Running {
			w.ContainerID = s.ContainerID
		}
	}
	return w
}

// slotsOf returns the slots that the pod's annotation gives, or 0.
func slotsOf(pod *corev1.Pod) int {
	if n, err := strconv.Atoi(pod.Annotations[names.AnnotationSlots]); err == nil && n > 0 {
		return n
	}
	return 0
}

// GraceOf returns the time that the kubelet gives the pod between TERM and KILL, or 0 if it is not
// known.
func GraceOf(pod *corev1.Pod) time.Duration {
	if s := pod.Spec.TerminationGracePeriodSeconds; s != nil {
		return time.Duration(*s) * time.Second
	}
	return 0
}

func containerStatus(pod *corev1.Pod, name string) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if s := &pod.Status.ContainerStatuses[i]; s.Name == name {
			return s
		}
	}
	return nil
}

// condition returns the pod's condition, or the zero value if it has none.
func condition(pod *corev1.Pod, kind corev1.PodConditionType) corev1.PodCondition {
	for _, c := range pod.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return corev1.PodCondition{}
}
