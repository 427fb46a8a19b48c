//go:build e2e

package e2e

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/musterhq/muster/agent/names"
)

// agentRows: the container runs, its agent is not what it should be.
func agentRows() []explainRow {
	return []explainRow{
		{
			name: "noagent", code: names.ExitHopeless, flags: []string{"--worker-agent=/opt/bin/agent"},
			says: []string{`^agent: wait for workers: POD: container worker has no agent \(/opt/bin/agent\): stat /opt/bin/agent: no such file or directory$`, `^hint: set spec.agent.delivery: init .*--worker-agent`},
		},
		{
			// The agent's own image has it at /agent, and nothing where mpirun's
			// daemons would call it.
			name: "norsh", code: names.ExitHopeless, flags: []string{"--worker-agent=/agent"}, command: []string{"mpirun", "true"},
			worker: func(pod *corev1.Pod) { first(pod).Image = image("agent") },
			says: []string{
				`^agent: wait for workers: POD: the rsh agent /muster/agent does not exist in its container; mpirun would hang`,
				`^hint: put the agent at the same path in the launcher's and the workers' images$`,
			},
		},
		{
			// A script may start no mpirun.
			name: "norshscript", flags: []string{"--worker-agent=/agent"}, command: []string{"sh", "-c", "true"},
			worker: func(pod *corev1.Pod) { first(pod).Image = image("agent") },
			says: []string{
				`^agent: POD: the rsh agent /muster/agent does not exist in its container; mpirun would hang if the command starts Open MPI's$`,
				`^hint: put the agent at the same path in the launcher's and the workers' images$`,
			},
		},
		{
			// The old pair: somebody sleeps where PID 1 should be the agent.
			name: "sleeps", flags: slowly, code: names.ExitDeadline, worker: instead("sleep 300"),
			says: []string{"POD: container worker runs, but no `agent worker` runs in it", "hint: let the container run `agent worker`"},
		},
		{
			name: "otherjob", code: names.ExitHopeless,
			worker: func(pod *corev1.Pod) {
				first(pod).Env = []corev1.EnvVar{{Name: names.EnvJob, Value: "another"}}
			},
			says: []string{`^agent: wait for workers: POD: .*another.*`, `^hint: --selector picks pods of another job`},
		},
		{
			// The handshake is the readiness: a probe that fails stops nobody.
			name: "notready", code: 0,
			worker: func(pod *corev1.Pod) {
				first(pod).ReadinessProbe = &corev1.Probe{PeriodSeconds: 2, ProbeHandler: corev1.ProbeHandler{
					Exec: &corev1.ExecAction{Command: []string{"/bin/false"}}}}
			},
			says: []string{`^agent: 1/1 ready`},
		},
	}
}

// reading adds the right to read a resource.
func reading(resource string) func(*rbacv1.Role) {
	return func(role *rbacv1.Role) {
		role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{resource}, Verbs: []string{"list"}})
	}
}

func without(resource string) func(*rbacv1.Role) {
	return func(role *rbacv1.Role) {
		role.Rules = slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, resource) })
	}
}

// rightsRows: the API server refuses, or is not there.
func rightsRows() []explainRow {
	return []explainRow{
		{
			name: "noexec", code: names.ExitForbidden, role: without("pods/exec"), within: time.Minute,
			says: []string{
				`^agent: 0/1 ready, \d+s; POD Forbidden: no right to exec into the pod`, // at once
				`^agent: wait for workers: POD: the launcher may not exec into it: User "system:serviceaccount:NS:x-noexec-launcher" cannot (get|create) resource "pods/exec"`,
				`^hint: add this rule to the Role .* namespace NS: .*pods/exec.*verbs: \["get", "create"\]`,
			},
		},
		{
			name: "nolist", code: names.ExitForbidden, role: without("pods"), within: 75 * time.Second,
			says: []string{`^agent: .*pods.* is forbidden`, `^hint: add this rule to the Role .* namespace NS: .*"pods".*"list", "watch"`},
		},
		{
			name: "noanswer", code: names.ExitNoCluster, flags: []string{"--timeout=8s"},
			launcher: func(pod *corev1.Pod) {
				first(pod).Env = []corev1.EnvVar{{Name: "KUBERNETES_SERVICE_HOST", Value: "127.0.0.1"}, {Name: "KUBERNETES_SERVICE_PORT", Value: "1"}}
			},
			says: []string{`^agent: the cluster cannot be reached: .*connection refused$`, `^hint: see whether the API server runs`},
		},
		{
			name: "notoken", code: names.ExitNoCluster,
			launcher: func(pod *corev1.Pod) { no := false; pod.Spec.AutomountServiceAccountToken = &no },
			says:     []string{`^agent: find the cluster: `, `^hint: .*serviceAccountName`},
		},
		{
			name: "badtoken", code: names.ExitForbidden, within: 90 * time.Second,
			launcher: forged,
			says:     []string{`^agent: .*(Unauthorized|provide credentials)`, `^hint: .*ServiceAccount`},
		},
	}
}

// forged lays another token over the pod's own.
func forged(pod *corev1.Pod) {
	no := false
	pod.Spec.AutomountServiceAccountToken = &no
	pod.Spec.Volumes = []corev1.Volume{{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		Sources: []corev1.VolumeProjection{
			{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
				{Path: "token", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}},
				{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}},
			}}},
		}}}}}
	first(pod).VolumeMounts = []corev1.VolumeMount{{Name: "token", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"}}
}
