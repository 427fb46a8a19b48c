//go:build linux

package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/test/suite/kube"
)

const (
	job      = "hold"
	launcher = job + "-launcher"
	space    = "bench-hold"
)

// contender is a way for mpirun to reach the workers.
type contender struct {
	key, name string
	worker    []string          // a worker's command
	before    []string          // words before mpirun
	options   []string          // of mpirun's
	env       map[string]string // of the launcher
	once      bool              // shown beside the others: in the first round, at the first size
}

// contenders in the order in which they take turns.
func contenders() []contender {
	agent, sleep := []string{"/muster/agent", "worker"}, []string{"sleep", "infinity"}
	run := []string{"/muster/agent", "run", "--job=" + job}
	kubexec := map[string]string{"OMPI_MCA_plm_rsh_agent": "/opt/bench/kubexec.sh", "OMPI_MCA_orte_default_hostfile": "/job/hostfile"}
	flat := map[string]string{"OMPI_MCA_plm_rsh_no_tree_spawn": "1", "OMPI_MCA_plm_rsh_num_concurrent": "128"}
	for name, value := range kubexec {
		flat[name] = value
	}
	return []contender{
		{key: "muster", name: "Muster", worker: agent, before: run},
		{key: "kubexec", name: "kubexec.sh, as mpi-operator v1 sets it", worker: sleep, env: kubexec},
		{key: "attached", name: "Muster, daemons told to stay attached", worker: agent, before: run, options: []string{"--leave-session-attached"}, once: true},
		{key: "flat", name: "kubexec.sh, plm_rsh_no_tree_spawn", worker: sleep, env: flat, once: true},
	}
}

// rank prints a line and outlives the last reading.
const rank = `echo "rank $OMPI_COMM_WORLD_RANK"; exec sleep 130`

func worker(i int) string { return fmt.Sprintf("%s-worker-%d", job, i) }

// common are the objects that all runs of one size have.
func common(n int) []any {
	var names []string
	hosts := ""
	for i := range n {
		names = append(names, worker(i))
		hosts += fmt.Sprintf("%s.%s slots=1\n", worker(i), job)
	}
	return append(kube.Bound(launcher,
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "watch"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods/exec"}, Verbs: []string{"get", "create"}, ResourceNames: names}),
		corev1.Service{TypeMeta: kube.Kind("v1", "Service"), ObjectMeta: kube.Named(job), Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true, Selector: map[string]string{"muster.dev/role": "worker"}}},
		corev1.ConfigMap{TypeMeta: kube.Kind("v1", "ConfigMap"), ObjectMeta: kube.Named(job), Data: map[string]string{"hostfile": hosts}})
}

// workers are the pods that wait to be reached.
func (c contender) workers(image string, n int) (pods []any) {
	for i := range n {
		p := pod(image, worker(i), "worker", c.worker)
		p.Labels["muster.dev/index"] = fmt.Sprint(i)
		p.Spec.Hostname, p.Spec.Subdomain, p.Spec.AutomountServiceAccountToken = p.Name, job, new(bool)
		pods = append(pods, p)
	}
	return pods
}

// launcher is the pod that has mpirun, and kubectl of the machine's path.
func (c contender) launcher(image string, n int, kubectl string) corev1.Pod {
	var argv []string
	if c.before != nil {
		argv = append(append(argv, c.before...), fmt.Sprintf("--workers=%d", n), "--")
	}
	argv = append(append(argv, "mpirun", "--allow-run-as-root"), append(c.options, "sh", "-c", rank)...)
	p := pod(image, launcher, "launcher", argv)
	p.Spec.ServiceAccountName = launcher
	main := &p.Spec.Containers[0]
	for name, value := range c.env {
		main.Env = append(main.Env, corev1.EnvVar{Name: name, Value: value})
	}
	file := corev1.HostPathFile
	p.Spec.Volumes = []corev1.Volume{
		{Name: "kubectl", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: kubectl, Type: &file}}},
		{Name: "job", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: job}}}},
	}
	main.VolumeMounts = []corev1.VolumeMount{{Name: "kubectl", MountPath: "/opt/kube/kubectl", ReadOnly: true}, {Name: "job", MountPath: "/job"}}
	return p
}

// pod is one that is soon gone when it is deleted: sleep as PID 1 does not hear SIGTERM.
func pod(image, name, role string, command []string) corev1.Pod {
	soon := int64(1)
	return corev1.Pod{TypeMeta: kube.Kind("v1", "Pod"),
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"muster.dev/job": job, "muster.dev/role": role}},
		Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: &soon,
			Containers: []corev1.Container{{Name: "main", Image: image, ImagePullPolicy: corev1.PullNever, Command: command}}}}
}
