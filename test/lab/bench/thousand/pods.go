//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/names"
	"github.com/musterhq/muster/test/lab/kwok"
	"github.com/musterhq/muster/test/suite/await"
)

// played is how many nodes the pods are on.
const played = 10

func podName(i int) string { return fmt.Sprintf("w-%d", i) }

func podNames(n int) (list []string) {
	for i := range n {
		list = append(list, podName(i))
	}
	return list
}

// sizeLabel marks the pods of a run of so many workers: the first ones.
func sizeLabel(size int) string { return fmt.Sprintf("muster.dev/bench-%d", size) }

// populate makes the nodes, whose kubelet we are, and the pods, and waits until all
// run. They stay for all sizes and rounds.
func (w *world) populate(ctx context.Context, sizes []int, most int, log string) error {
	var nodes []*corev1.Node
	for i := range played {
		node := kwok.Node(i)
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: w.kubelet.IP.String()}}
		node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(w.kubelet.Port)
		nodes = append(nodes, node)
	}
	stop, err := kwok.Play(ctx, w.Client, nodes, log)
	w.Later("end played nodes", stop)
	if err != nil {
		return err
	}
	// After the nodes, so that it goes before them: kwok takes the pods away.
	if err := w.admit(ctx, most); err != nil {
		return err
	}
	group, making := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i := range most {
		group.Go(func() error {
			if err := w.Client.Create(making, workerPod(i, sizes)); err != nil {
				return fmt.Errorf("make pod: %w", err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return w.awaitPods(ctx, most)
}

// workerPod is one of them. It names its node itself: scheduling is not what is
// measured.
func workerPod(i int, sizes []int) *corev1.Pod {
	labels := map[string]string{names.LabelJob: "thousand", names.LabelRole: "worker"}
	for _, size := range sizes {
		if i < size {
			labels[sizeLabel(size)] = "true"
		}
	}
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: podName(i), Namespace: space, Labels: labels},
		Spec: corev1.PodSpec{NodeName: kwok.Node(i % played).Name, Containers: []corev1.Container{{
			Name: "worker", Image: "localhost/muster-mpi:dev", Command: []string{names.AgentPath, "worker"}}},
			Tolerations: []corev1.Toleration{{Key: kwok.Played, Operator: corev1.TolerationOpExists}}}}
}

func (w *world) awaitPods(ctx context.Context, most int) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	return await.Until(ctx, time.Second, "pods", func() (bool, error) {
		var list corev1.PodList
		err := w.Client.List(ctx, &list, client.InNamespace(space))
		running := 0
		for _, pod := range list.Items {
			if pod.Status.Phase == corev1.PodRunning {
				running++
			}
		}
		if running == most {
			return true, nil
		}
		return false, errors.Join(err, fmt.Errorf("%d of %d run", running, most))
	})
}
