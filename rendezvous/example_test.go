package rendezvous_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/rendezvous"
)

// examplePod returns a pod whose container runs if reason is "". Otherwise it waits for that reason
// of the kubelet.
func examplePod(name, reason string) *corev1.Pod {
	state := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	if reason != "" {
		state = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "pi", UID: types.UID(name)},
		Spec:       corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{{Name: "main", Image: "repo/pi:v7"}}},
		Status:     corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "main", State: state}}},
	}
}

func ExampleExplain() {
	pod := examplePod("pi-worker-1", "ImagePullBackOff")
	reason := rendezvous.Explain(pod, "main", time.Now())
	fmt.Println(reason.Code)
	fmt.Println(reason.Sentence)
	fmt.Println("hint:", reason.Hint)
	// Output:
	// ImagePull
	// pi-worker-1: the image repo/pi:v7 of container main cannot be pulled
	// hint: kubectl describe pod pi-worker-1 -n pi shows the registry's answer
}

// Numeric order decides: worker 2 comes before worker 10. A worker without an index comes last.
func ExampleRank() {
	ranked, replaced := rendezvous.Rank([]rendezvous.Worker{
		{Name: "pi-worker-10", Index: 10},
		{Name: "pi-worker-2", Index: 2},
		{Name: "extra", Index: -1},
	})
	for rank, w := range ranked {
		fmt.Println(rank, w.Name)
	}
	fmt.Println(len(replaced), "replaced")
	// Output:
	// 0 pi-worker-2
	// 1 pi-worker-10
	// 2 extra
	// 0 replaced
}

// A job waits for two workers. The first one is ready, because its link is. The second one waits
// for its image.
func ExampleBoard() {
	begin := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	board := rendezvous.New(2, 0)
	first, second := examplePod("pi-worker-0", ""), examplePod("pi-worker-1", "ImagePullBackOff")
	board.SetPods(rendezvous.Snapshot{At: begin, Pods: []*corev1.Pod{first, second}})
	board.SetLink("pi-worker-0", rendezvous.LinkState{Ready: true})
	board.Tick(begin)
	fmt.Println(board.Tick(begin.Add(12 * time.Second)).Sentence)
	_, done := board.Done()
	fmt.Println("done:", done)

	second = examplePod("pi-worker-1", "")
	board.SetPods(rendezvous.Snapshot{At: begin.Add(15 * time.Second), Pods: []*corev1.Pod{first, second}})
	board.SetLink("pi-worker-1", rendezvous.LinkState{Ready: true})
	fmt.Println(board.Tick(begin.Add(15 * time.Second)).Sentence)
	_, done = board.Done()
	fmt.Println("done:", done)
	// Output:
	// 1/2 ready, 12s; pi-worker-1 ImagePullBackOff: repo/pi:v7
	// done: false
	// 2/2 ready, 15s
	// done: true
}
