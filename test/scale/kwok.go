//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/test/program"
)

// played marks nodes that kwok plays, as a label and as a taint.
const played = "muster.dev/played"

// play has kwok play nodes.
func (w *world) play(ctx context.Context, nodes int, log string) error {
	kwok := program.Module{Dir: filepath.Join(w.Root, "test/scale/kwok"), Path: "sigs.k8s.io/kwok", Name: "kwok", Commands: []string{"cmd/kwok"}}
	bin, err := kwok.Build(ctx)
	if err != nil {
		return err
	}
	for i := range nodes {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("played-%d", i), Labels: map[string]string{played: "true"}},
			Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: played, Value: "true", Effect: corev1.TaintEffectNoSchedule}}}}
		if err := w.Client.Create(ctx, node); err != nil {
			return fmt.Errorf("make node: %w", err)
		}
		w.Later("remove node "+node.Name, func(ctx context.Context) error { return client.IgnoreNotFound(w.Client.Delete(ctx, node)) })
	}
	if _, err := w.Start(log, nil, filepath.Join(bin, "kwok"), "--kubeconfig="+os.Getenv("KUBECONFIG"), "--manage-all-nodes=false", "--manage-nodes-with-label-selector="+played+"=true"); err != nil {
		return err
	}
	return w.Await(ctx, time.Minute, "played nodes", func() (bool, error) {
		var list corev1.NodeList
		if err := w.Client.List(ctx, &list, client.MatchingLabels{played: "true"}); err != nil {
			return false, err
		}
		ready := 0
		for _, n := range list.Items {
			for _, c := range n.Status.Conditions {
				if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
					ready++
				}
			}
		}
		return ready == nodes, nil
	})
}

// onPlayed puts a job's pods onto played nodes.
func onPlayed(job *v1alpha1.LaunchJob) {
	for _, t := range []*corev1.PodTemplateSpec{&job.Spec.Launcher.Template, &job.Spec.Roles[0].Template} {
		t.Spec.NodeSelector = map[string]string{played: "true"}
		t.Spec.Tolerations = []corev1.Toleration{{Key: played, Operator: corev1.TolerationOpExists}}
	}
}
