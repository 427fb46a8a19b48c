//go:build linux

package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/test/suite/kube"
)

const (
	podImage = "localhost/muster-frameworks:dev" // images/frameworks
	jobName  = "row"
	launcher = jobName + "-launcher"
	owner    = "muster.dev/frameworks" // label of our namespaces

	mountScripts = "/scripts"
	mountShared  = "/shared"
	mountVenvs   = "/venv" // /venv/NAME
)

func worker(i int) string { return fmt.Sprintf("%s-worker-%d", jobName, i) }

func names(n int) (list []string) {
	for i := range n {
		list = append(list, worker(i))
	}
	return list
}

// pods gives launcher and workers of a row.
func pods(r row, venvs map[string]venv, shared string) []any {
	paths := map[string]string{"scripts": mountScripts, "shared": mountShared, "venv": mounted(venvs[r.venv])}
	args := []string{"run", "--job=" + jobName, fmt.Sprintf("--workers=%d", r.size()), fmt.Sprintf("--slots=%d", max(1, r.slots))}
	args = append(append(args, fill(r.flags, paths)...), "--")
	args = append(args, fill(r.argv, paths)...)
	all := []any{pod(r, venvs, shared, paths, launcher, "launcher", args)}
	for i := range r.size() {
		p := pod(r, venvs, shared, paths, worker(i), "worker", []string{"worker"})
		p.Labels["muster.dev/index"] = fmt.Sprint(i)
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: "kubernetes.io/hostname", WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"muster.dev/job": jobName, "muster.dev/role": "worker"}},
		}}
		all = append(all, p)
	}
	return all
}

func mounted(v venv) string { return mountVenvs + "/" + v.name }

func pod(r row, venvs map[string]venv, shared string, paths map[string]string, name, role string, args []string) *corev1.Pod {
	pod := kube.Restricted(name, jobName, role, podImage, args)
	kube.MountFiles(pod, "scripts", mountScripts)
	kube.Mount(pod, "shared", shared, mountShared, false)
	for _, n := range r.recipes() {
		kube.Mount(pod, n, venvs[n].dir, mounted(venvs[n]), true)
	}
	env := append(pythonEnv(r, venvs, mounted),
		searchPath(r, venvs, mounted, "/usr/local/bin", "/usr/bin", "/bin"), "PYTHONDONTWRITEBYTECODE=1")
	pod.Spec.Containers[0].Env = kube.Environment(append(env, fill(r.env, paths)...)...)
	return pod
}
