//go:build linux

package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/musterhq/muster/test/suite/kube"
	"github.com/musterhq/muster/test/suite/pipelines"
	"github.com/musterhq/muster/test/suite/program"
)

// pipeline compiles the pipeline and runs the container of its step, with the rights in
// docs/guides/pipelines.md and the settings that the backend of Pipelines would use. It returns the step's log.
func (w *world) pipeline(ctx context.Context) (string, error) {
	const sdk, account, step = "kfp2", "pipeline-runner", "step"
	venv, err := program.Venv(ctx, sdk)
	if err != nil {
		return "", err
	}
	script, err := filepath.Abs("examples/pipeline/pipeline.py")
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(venv, "bin", "python3"), script)
	cmd.Dir = w.dir
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("compile the pipeline: %w\n%s", err, said)
	}
	given, err := pipelines.Compiled(ctx, sdk, filepath.Join(w.dir, "pipeline.yaml"))
	if err != nil {
		return "", err
	}
	for i, word := range given.Args {
		if word == "debian:12-slim" {
			given.Args[i] = image
		}
	}
	rule := func(group, resource string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
	}
	objects := kube.Bound(account, rule("muster.dev", "launchjobs", "create", "get", "delete"), rule("", "pods", "get", "list"), rule("", "pods/log", "get"))
	pod := corev1.Pod{TypeMeta: kube.Kind("v1", "Pod"), ObjectMeta: kube.Named(step), Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, ServiceAccountName: account,
		Containers: []corev1.Container{{
			Name: "main", Image: "localhost/" + strings.TrimPrefix(given.Image, released), ImagePullPolicy: corev1.PullNever,
			Command: given.Command, Args: given.Args, VolumeMounts: []corev1.VolumeMount{{Name: "tmp", MountPath: "/tmp"}},
		}},
		Volumes: []corev1.Volume{{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
	}}
	pod.Labels = map[string]string{"workflows.argoproj.io/workflow": "pipeline"} // set by Argo, which Pipelines runs on
	if err := kube.Apply(ctx, w.ns, append(objects, pod)...); err != nil {
		return "", err
	}
	code, err := kube.Terminated(ctx, w.ns, step)
	if err != nil {
		return "", err
	}
	log, err := kube.Kubectl(ctx, w.ns, nil, "logs", step)
	if err == nil && code != 0 {
		err = fmt.Errorf("the step ended with %d\n%s", code, log)
	}
	return log, err
}
