//go:build linux

package main

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
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
	first := pod(r, venvs, shared, paths, launcher, "launcher", args)
	first.Spec.ServiceAccountName = launcher
	all := []any{first}
	for i := range r.size() {
		p := pod(r, venvs, shared, paths, worker(i), "worker", []string{"worker"})
		p.Labels["muster.dev/index"] = fmt.Sprint(i)
		p.Spec.AutomountServiceAccountToken = new(bool)
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: "kubernetes.io/hostname", WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"muster.dev/job": jobName, "muster.dev/role": "worker"}},
		}}
		all = append(all, p)
	}
	return all
}

func mounted(v venv) string { return mountVenvs + "/" + v.name }

func pod(r row, venvs map[string]venv, shared string, paths map[string]string, name, role string, args []string) corev1.Pod {
	id := int64(1000)
	yes, no := true, false
	c := corev1.Container{
		Name: role, Image: podImage, ImagePullPolicy: corev1.PullNever, Args: args,
		SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: &no, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("32Mi")}},
		VolumeMounts: []corev1.VolumeMount{{Name: "scripts", MountPath: mountScripts, ReadOnly: true}, {Name: "shared", MountPath: mountShared}},
	}
	directory := corev1.HostPathDirectory
	volumes := []corev1.Volume{
		{Name: "scripts", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "scripts"}}}},
		{Name: "shared", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: shared, Type: &directory}}},
	}
	for _, n := range r.recipes() {
		volumes = append(volumes, corev1.Volume{Name: n, VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: venvs[n].dir, Type: &directory}}})
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: n, MountPath: mounted(venvs[n]), ReadOnly: true})
	}
	env := append(pythonEnv(r, venvs, mounted),
		searchPath(r, venvs, mounted, "/usr/local/bin", "/usr/bin", "/bin"), "PYTHONDONTWRITEBYTECODE=1")
	for _, kv := range append(env, fill(r.env, paths)...) {
		name, value, _ := strings.Cut(kv, "=")
		c.Env = append(c.Env, corev1.EnvVar{Name: name, Value: value})
	}
	return corev1.Pod{TypeMeta: kube.Kind("v1", "Pod"),
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"muster.dev/job": jobName, "muster.dev/role": role}},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{c}, Volumes: volumes,
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: &yes, RunAsUser: &id, RunAsGroup: &id,
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
		}}
}
