//go:build linux

package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/test/suite/kube"
)

const (
	image   = "localhost/muster-bench:dev" // images/bench
	jobName = "launch"
	most    = 100 // workers that the Roles name
)

func worker(i int) string { return fmt.Sprintf("%s-worker-%d", jobName, i) }

func workers(n int) (all []string) {
	for i := range n {
		all = append(all, worker(i))
	}
	return all
}

// rights are mpi-operator v1's for kubectl, the README's for Muster, and for ssh what its
// wait needs.
func rights() []any {
	look := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "watch"}}
	exec := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods/exec"}, Verbs: []string{"get", "create"}, ResourceNames: workers(most)}
	var all []any
	for _, objects := range [][]any{kube.Bound(kubexecPod, look, exec), kube.Bound(slowPod, look, exec), kube.Bound(sshPod, look),
		kube.Access(musterPod, workers(most)), kube.Bound(floorPod)} {
		all = append(all, objects...)
	}
	return all
}

// launcher is a pod that waits to be entered. Its request is its weight when processors are
// short. The floor's daemons and ranks are in its launcher's cgroup, so that one has the
// weight of a launcher and of as many workers as there are.
func launcher(name string) corev1.Pod {
	cpu, node := "200m", "node1"
	if name == floorPod {
		cpu, node = "800m", "node2"
	}
	pod := pod(name, []string{"sleep", "inf"}, cpu)
	pod.Spec.ServiceAccountName = name
	pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: node}
	pod.Labels = map[string]string{"muster.dev/job": jobName, "muster.dev/role": "launcher"}
	return pod
}

func workerPod(i int, pid1 []string) corev1.Pod {
	pod, token := pod(worker(i), pid1, "10m"), false
	labels := map[string]string{"muster.dev/job": jobName, "muster.dev/role": "worker"}
	pod.Labels = map[string]string{"muster.dev/index": fmt.Sprint(i)}
	for key, value := range labels {
		pod.Labels[key] = value
	}
	pod.Spec.AutomountServiceAccountToken = &token
	pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelHostname,
		WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: labels}}}
	return pod
}

func pod(name string, pid1 []string, cpu string) corev1.Pod {
	grace, mode := int64(1), int32(0o600)
	role := "launcher"
	if cpu == "10m" {
		role = "worker"
	}
	return corev1.Pod{TypeMeta: kube.Kind("v1", "Pod"), ObjectMeta: kube.Named(name), Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: &grace,
		Containers: []corev1.Container{{
			Name: role, Image: image, ImagePullPolicy: corev1.PullNever, Command: pid1,
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse("32Mi")}},
			VolumeMounts: []corev1.VolumeMount{{Name: "keys", MountPath: "/root/.ssh"}},
		}},
		Volumes: []corev1.Volume{{Name: "keys", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: keySecret, DefaultMode: &mode}}}},
	}}
}
