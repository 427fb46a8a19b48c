//go:build linux

package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/test/lab/kwok"
)

// play has kwok play nodes.
func (w *world) play(ctx context.Context, nodes int, log string) error {
	var list []*corev1.Node
	for i := range nodes {
		list = append(list, kwok.Node(i))
	}
	stop, err := kwok.Play(ctx, w.Client, list, log)
	w.Later("end played nodes", stop)
	return err
}

// onPlayed puts a job's pods onto played nodes.
func onPlayed(job *v1alpha1.LaunchJob) {
	for _, t := range []*corev1.PodTemplateSpec{&job.Spec.Launcher.Template, &job.Spec.Roles[0].Template} {
		t.Spec.NodeSelector = map[string]string{kwok.Played: "true"}
		t.Spec.Tolerations = []corev1.Toleration{{Key: kwok.Played, Operator: corev1.TolerationOpExists}}
	}
}
