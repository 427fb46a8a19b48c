package rendezvous_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/rendezvous"
)

func TestPick(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	for _, c := range []struct {
		what       string
		rule       rendezvous.Containers
		have       []string
		annotation string
		want, err  string
	}{
		{"the only container", rendezvous.Containers{}, []string{"main"}, "", "main", ""},
		{"the flag", rendezvous.Containers{Flag: "b"}, []string{"a", "b"}, "a", "b", ""},
		{"a flag with a missing container", rendezvous.Containers{Flag: "x"}, []string{"a", "b"}, "a", "", "choose container: pod w-0 has no container x, only a, b"},
		{"kubectl's annotation", rendezvous.Containers{Framework: []string{"a"}}, []string{"a", "b"}, "b", "b", ""},
		{"an annotation with a missing container", rendezvous.Containers{Framework: []string{"pytorch", "a"}}, []string{"a", "b"}, "x", "a", ""},
		{"no choice", rendezvous.Containers{Framework: []string{"pytorch"}}, []string{"a", "b"}, "", "", "choose container: pod w-0 has 2, and none is marked as the worker's: a, b"},
	} {
		pod := &corev1.Pod{}
		pod.Name = "w-0"
		for _, name := range c.have {
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: name})
		}
		pod.Spec.InitContainers = []corev1.Container{{Name: "sidecar", RestartPolicy: &always}}
		if c.annotation != "" {
			pod.Annotations = map[string]string{names.AnnotationDefaultContainer: c.annotation}
		}
		got, err := c.rule.Pick(pod)
		require.Equal(t, c.want, got, c.what)
		if c.err == "" {
			require.NoError(t, err, c.what)
			continue
		}
		require.EqualError(t, err, c.err, c.what)
		var hinted interface{ Hint() string }
		require.ErrorAs(t, err, &hinted)
		require.Contains(t, hinted.Hint(), "--container")
	}
}

func TestFromPod(t *testing.T) {
	pod := shape(t, "running-ready")
	pod.Annotations = map[string]string{names.AnnotationSlots: "8"}
	pod.Spec.HostNetwork = true
	w := rendezvous.FromPod(pod, "worker")
	require.Equal(t, rendezvous.Worker{
		Name: "w-3", Namespace: "hpc", UID: "u-w-3", IP: "10.0.0.3", Node: "n1", Hostname: "w-3",
		Container: "worker", ContainerID: "containerd://c0", Index: 3, Slots: 8, HostNetwork: true,
		Created: pod.CreationTimestamp.Time, Running: true, Labels: pod.Labels,
	}, w)
	require.False(t, rendezvous.FromPod(shape(t, "creating"), "worker").Running)
	require.True(t, rendezvous.FromPod(shape(t, "terminating"), "worker").Terminating)
	require.True(t, rendezvous.FromPod(shape(t, "oom-never"), "worker").Finished)
	for _, bad := range []string{"0", "-1", "many"} {
		pod.Annotations[names.AnnotationSlots] = bad
		require.Zero(t, rendezvous.FromPod(pod, "worker").Slots)
	}
}

func TestStatic(t *testing.T) {
	for _, n := range []int{0, -1, rendezvous.MaxStatic + 1} {
		_, err := rendezvous.Static(n)
		require.Error(t, err)
	}
	workers, err := rendezvous.Static(300)
	require.NoError(t, err)
	require.Equal(t, "127.0.0.2", workers[0].Name)
	require.Equal(t, "127.0.1.45", workers[299].IP)
	ranked, replaced := rendezvous.Rank(workers)
	require.Equal(t, workers, ranked)
	require.Empty(t, replaced)
}

// TestLostWithItsNode checks that the time counts from the kubelet's last sign of life, not from
// the taint that causes the pod's deletion. A pod with the same plain name is the replacement.
func TestLostWithItsNode(t *testing.T) {
	pod := shape(t, "node-silent")
	pod.Labels = map[string]string{names.LabelPod: "w-3"}
	started := []rendezvous.Worker{rendezvous.FromPod(pod, "worker")}
	tainted := metav1.NewTime(noon)
	pod.DeletionTimestamp = &tainted
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByTaintManager", Message: "Taint manager: deleting", LastTransitionTime: tainted})
	losses := rendezvous.Lost(started, rendezvous.Snapshot{Pods: []*corev1.Pod{pod}}, noon)
	require.Len(t, losses, 1)
	require.Equal(t, rendezvous.NodeLost, losses[0].Reason.Code)
	require.Equal(t, 45*time.Second, noon.Sub(losses[0].Reason.Since))
	require.False(t, losses[0].Replaced)

	next := shape(t, "running-ready")
	next.Name, next.UID, next.Labels, next.CreationTimestamp = "w-3-r1", "u-2", pod.Labels, tainted
	for _, pods := range [][]*corev1.Pod{{pod, next}, {next, pod}} {
		losses = rendezvous.Lost(started, rendezvous.Snapshot{Pods: pods}, noon)
		require.Len(t, losses, 1)
		require.True(t, losses[0].Replaced)
		require.False(t, losses[0].Gone, "the worker's link decides whether it is gone")
	}
	other := shape(t, "running-ready")
	other.Name, other.UID, other.CreationTimestamp = "w-4", "u-3", tainted
	losses = rendezvous.Lost(started, rendezvous.Snapshot{Pods: []*corev1.Pod{pod, other}}, noon)
	require.False(t, losses[0].Replaced)
}

func TestLost(t *testing.T) {
	pod := shape(t, "running-ready")
	pod.Status.ContainerStatuses[0].Resources = limits("4", "1Gi")
	started := []rendezvous.Worker{rendezvous.FromPod(pod, "worker")}
	for _, c := range []struct {
		what string
		pod  func() *corev1.Pod
		code rendezvous.Code
		gone bool
		says string
	}{
		{"running", func() *corev1.Pod { return shape(t, "running-ready") }, "", false, ""},
		{"deleted", func() *corev1.Pod { return nil }, rendezvous.Missing, true, "w-3: the pod was deleted"},
		{"replaced", func() *corev1.Pod { p := shape(t, "running-ready"); p.UID = "u-2"; return p }, rendezvous.Missing, true, "uid u-w-3, now u-2"},
		{"evicted", func() *corev1.Pod { return shape(t, "evicted-memory") }, rendezvous.Evicted, true, "low on resource: memory"},
		{"failed", func() *corev1.Pod { return shape(t, "exit-never") }, rendezvous.Error, true, "exit code 7"},
		{"ended with 0", func() *corev1.Pod { return shape(t, "exit-zero-never") }, rendezvous.Completed, true, "exit code 0 while the job ran"},
		{"in a crash loop", func() *corev1.Pod { return shape(t, "oom-loop") }, rendezvous.OOMKilled, true, "limit 512Mi"},
		{"already restarted", func() *corev1.Pod {
			p := shape(t, "running-ready")
			s := &p.Status.ContainerStatuses[0]
			s.RestartCount, s.ContainerID = 1, "containerd://c1"
			s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}
			return p
		}, rendezvous.OOMKilled, true, "was restarted while the job ran; it had been killed for its memory"},
		{"another container id", func() *corev1.Pod {
			p := shape(t, "running-ready")
			p.Status.ContainerStatuses[0].ContainerID = "containerd://c1"
			return p
		}, rendezvous.Error, true, "container worker was restarted"},
		{"restarted by a resize", func() *corev1.Pod {
			p := shape(t, "running-ready")
			p.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceMemory, RestartPolicy: corev1.RestartContainer}}
			s := &p.Status.ContainerStatuses[0]
			s.RestartCount, s.ContainerID, s.Resources = 1, "containerd://c1", limits("4", "8Gi")
			return p
		}, rendezvous.Error, true, "was restarted while the job ran, as its resizePolicy says for a resize: the memory limit is 8Gi now, not 1Gi"},
		{"terminating", func() *corev1.Pod { return shape(t, "terminating") }, rendezvous.Terminating, false, "being deleted"},
		{"preempted", func() *corev1.Pod { return shape(t, "preempted-scheduler") }, rendezvous.Preempted, false, "preempting to accommodate"},
		{"about to be evicted", func() *corev1.Pod {
			p := shape(t, "running-ready")
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting"})
			return p
		}, rendezvous.Preempted, false, "Eviction API: evicting"},
		{"the node does not answer", func() *corev1.Pod { return shape(t, "node-silent") }, rendezvous.NodeLost, false, "node n1 does not answer for 45s"},
		{"not ready", func() *corev1.Pod { return shape(t, "running-not-ready") }, rendezvous.NotReady, false, "not Ready"},
	} {
		var snap rendezvous.Snapshot
		if pod := c.pod(); pod != nil {
			pod.Status.PodIP = "10.0.0.3"
			snap.Pods = append(snap.Pods, pod)
		}
		losses := rendezvous.Lost(started, snap, noon)
		if c.code == "" {
			require.Empty(t, losses, c.what)
			continue
		}
		require.Len(t, losses, 1, c.what)
		require.Equal(t, c.code, losses[0].Reason.Code, c.what)
		require.Equal(t, c.gone, losses[0].Gone, c.what)
		require.Contains(t, losses[0].Reason.Sentence, c.says, c.what)
		require.Contains(t, losses[0].Reason.Sentence, "w-3", c.what)
		require.NotContains(t, losses[0].Reason.Sentence, "waiting for", c.what)
		snap.Err = &rendezvous.APIError{}
		require.Empty(t, rendezvous.Lost(started, snap, noon), "no loss is reported while the server does not answer")
	}
}
