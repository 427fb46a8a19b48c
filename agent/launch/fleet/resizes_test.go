package fleet

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/rendezvous"
)

// scene is a run with some workers, whose pods a test changes.
type scene struct {
	watch *Resizes
	pods  []*corev1.Pod
	now   time.Time
}

// newScene begins an attempt with n workers that have 4 CPUs each.
func newScene(n int) *scene {
	s := &scene{watch: NewResizes(), now: time.Unix(1e9, 0)}
	for i := range n {
		pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "n-1", Containers: []corev1.Container{{Name: "main"}}}}
		pod.Name, pod.UID = fmt.Sprintf("pi-worker-%d", i), types.UID(fmt.Sprint("uid-", i))
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
		s.pods = append(s.pods, pod)
	}
	s.resize("4", 0, n)
	s.watch.Begin(s.workers(), s.now)
	return s
}

func (s *scene) workers() (all []rendezvous.Worker) {
	for _, pod := range s.pods {
		all = append(all, rendezvous.FromPod(pod, "main"))
	}
	return all
}

// resize applies a CPU limit to the pods from the first to before the last one.
func (s *scene) resize(cpu string, first, last int) {
	for _, pod := range s.pods[first:last] {
		pod.Status.ContainerStatuses[0].Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}
	}
}

// refuse sets the kubelet's condition of pods; "" removes it.
func (s *scene) refuse(reason, message string, pods ...*corev1.Pod) {
	for _, pod := range pods {
		pod.Status.Conditions = nil
		if reason != "" {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: reason, Message: message}}
		}
	}
}

// after lets time pass, one look a second as the supervisor does, and returns what is printed.
func (s *scene) after(d time.Duration) (said []string) {
	workers := s.workers()
	for end := s.now.Add(d); s.now.Before(end); {
		s.now = s.now.Add(time.Second)
		s.watch.Look(workers, rendezvous.Snapshot{At: s.now, Pods: s.pods}, s.now)
		said = append(said, s.watch.Lines(s.now, false)...)
	}
	return said
}

func TestOneWorker(t *testing.T) {
	s := newScene(2)
	require.Empty(t, s.after(time.Minute))
	s.resize("2", 0, 1)
	require.Equal(t, []string{"pi-worker-0: the CPU limit is 2 now, not 4 (resized in place); running ranks keep their slots and threads, a restart reads the annotation muster.dev/slots"}, s.after(time.Minute))
	s.pods[0].Status.ContainerStatuses[0].Resources.Limits[corev1.ResourceMemory] = resource.MustParse("8Gi")
	require.Equal(t, []string{"pi-worker-0: the memory limit is 8Gi now, where there was none (resized in place)"}, s.after(time.Minute), "slots do not depend on memory")
}

// TestManyWorkersAreOneLine checks that a resize of many workers, one after the other, is one line.
func TestManyWorkersAreOneLine(t *testing.T) {
	s := newScene(1000)
	var said []string
	for i := range 20 {
		s.resize("2", 50*i, 50*i+50)
		said = append(said, s.after(time.Second)...)
	}
	said = append(said, s.after(time.Minute)...)
	require.Len(t, said, 1)
	require.True(t, strings.HasPrefix(said[0], "pi-worker-0 and 999 more workers: the CPU limit is 2 now, not 4 (resized in place); running"), said[0])

	for i := range 100 { // a resize that takes long is told in between
		s.resize("4", 10*i, 10*i+10)
		said = append(said, s.after(time.Second)...)
	}
	said = append(said, s.after(time.Minute)...)
	require.Len(t, said, 5)
}

func TestDifferentWays(t *testing.T) {
	s := newScene(20)
	for i, cpu := range []string{"1", "2", "3", "5", "6"} {
		s.resize(cpu, i*(i+1)/2, (i+1)*(i+2)/2) // 1, 2, 3, 4 and 5 workers
	}
	said := s.after(time.Minute)
	require.Len(t, said, 4)
	require.Contains(t, said[0], "pi-worker-10 and 4 more workers: the CPU limit is 6 now")
	require.Contains(t, said[2], "pi-worker-3 and 2 more workers: the CPU limit is 3 now")
	require.Equal(t, "3 workers resized in other ways (see the events of the run)", said[3])
}

func TestRefused(t *testing.T) {
	s := newScene(3)
	s.refuse("Infeasible", "Node didn't have enough capacity: cpu, requested: 900000, capacity: 2000", s.pods...)
	require.Equal(t, []string{"cannot resize pi-worker-0 and 2 more workers in place (Infeasible): Node didn't have enough capacity: cpu, requested: 900000, capacity: 2000"}, s.after(time.Hour))
	s.refuse("", "", s.pods...)
	require.Empty(t, s.after(time.Minute))
	s.refuse("Infeasible", "again", s.pods[0])
	require.Equal(t, []string{"cannot resize pi-worker-0 in place (Infeasible): again"}, s.after(time.Hour))
}

func TestDeferred(t *testing.T) {
	s := newScene(1)
	s.refuse("Deferred", "used: 950", s.pods...)
	require.Empty(t, s.after(50*time.Second))
	s.refuse("Deferred", "used: 960", s.pods...)
	require.Equal(t, []string{"the resize of pi-worker-0 has waited for 1m (Deferred): used: 960"}, s.after(time.Hour), "the time counts from the first message, and the newest is printed once")
	s.refuse("", "", s.pods...)
	s.resize("8", 0, 1)
	require.Len(t, s.after(time.Minute), 1)
}

func TestFails(t *testing.T) {
	s := newScene(1)
	s.pods[0].Status.Conditions = []corev1.PodCondition{{Type: corev1.PodResizeInProgress, Status: corev1.ConditionTrue, Reason: "Error", Message: "write memory.max: device busy"}}
	require.Equal(t, []string{"the resize of pi-worker-0 fails (Error): write memory.max: device busy"}, s.after(time.Hour))
}

// TestBetweenAttempts checks that ranks that start with the new limit do not keep anything of the
// old one, and that nothing is told twice.
func TestBetweenAttempts(t *testing.T) {
	s := newScene(1)
	s.resize("2", 0, 1)
	require.Equal(t, []Resize{{Worker: "pi-worker-0", Node: "n-1", Text: "the CPU limit is 2 now, not 4"}}, s.watch.Begin(s.workers(), s.now))
	require.Equal(t, []string{"pi-worker-0: the CPU limit is 2 now, not 4 (resized in place)"}, s.after(time.Minute))
}

// TestEndOfAnAttempt checks that nothing is held back at the end.
func TestEndOfAnAttempt(t *testing.T) {
	s := newScene(1)
	s.resize("2", 0, 1)
	require.Empty(t, s.after(time.Second))
	require.Len(t, s.watch.Lines(s.now, true), 1)
	require.Empty(t, s.watch.Lines(s.now, true))
}

// TestPodsThatAreGone checks that a worker without a pod is not compared with what was known when its
// link was opened.
func TestPodsThatAreGone(t *testing.T) {
	s := newScene(1)
	workers := s.workers() // with 4 CPUs
	s.resize("2", 0, 1)
	require.Len(t, s.after(time.Minute), 1)
	require.Empty(t, s.watch.Look(workers, rendezvous.Snapshot{At: s.now.Add(time.Second)}, s.now))
	require.Empty(t, s.watch.pods)
}

func TestDetail(t *testing.T) {
	require.Equal(t, "the CPU limit is 2 now, not 4", Resize{Text: "the CPU limit is 2 now, not 4"}.Detail())
	require.Equal(t, "Infeasible: too much", Resize{Refused: rendezvous.Refusal{Reason: "Infeasible", Message: "too much"}}.Detail())
}
