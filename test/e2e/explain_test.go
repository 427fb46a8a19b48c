//go:build e2e

package e2e

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/musterhq/muster/exec/names"
)

// explainRow is a launcher that waits in vain, and the messages that it must print.
type explainRow struct {
	name     string
	workers  int // number of workers that the job wants; 0: one
	created  int // number of workers that are created; 0: all, negative: none
	flags    []string
	command  []string           // nil: true
	worker   func(*corev1.Pod)  // the problem with the workers
	launcher func(*corev1.Pod)  // the problem with the launcher
	role     func(*rbacv1.Role) // the problem with the launcher's rights
	code     int
	// says are regular expressions. Each must match a line of the launcher. POD stands for the first worker's name,
	// NS for the namespace.
	says []string
	// within is the time within which the launcher must end, after its start and that of the worker. 0: not checked.
	within time.Duration
}

// explainLimit is the time limit for all rows of a group together.
const explainLimit = 4 * time.Minute

// slowly has flags for states that waiting might still change: the launcher gives up only at the deadline. The time
// is long enough for forty pods that start at once.
var slowly = []string{"--timeout=75s"}

func (r explainRow) job() job {
	j := job{name: "x-" + r.name, image: "openmpi", workers: max(r.workers, 1), slots: 1, flags: r.flags, command: r.command, words: true}
	if j.command == nil {
		j.command = []string{"true"}
	}
	j.edit = func(pod *corev1.Pod) {
		switch {
		case pod.Labels[names.LabelRole] == names.RoleWorker && r.worker != nil:
			r.worker(pod)
		case pod.Labels[names.LabelRole] != names.RoleWorker && r.launcher != nil:
			r.launcher(pod)
		}
	}
	return j
}

func (r explainRow) objects(t *testing.T) []any {
	j := r.job()
	all := j.access(t)
	for i, object := range all {
		if role, ok := object.(rbacv1.Role); ok && r.role != nil {
			r.role(&role)
			all[i] = role
		}
	}
	created := j.workers
	if r.created != 0 {
		created = max(r.created, 0)
	}
	for i := range created {
		all = append(all, j.worker(t, i))
	}
	return append(all, j.launcher(t))
}

// explain starts every row in s at the same time, because they mostly wait, and checks each row when all have
// ended.
func explain(t *testing.T, s *space, rows []explainRow) {
	t.Helper()
	var all []any
	for _, r := range rows {
		all = append(all, r.objects(t)...)
	}
	s.apply(all...)
	pods := explainEnds(s, rows)
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			here := &space{t: t, name: s.name}
			launcher, ok := pods[r.job().launcherName()]
			require.True(t, ok, "the launcher's pod does not exist")
			ended := launcher.Status.ContainerStatuses
			require.NotEmpty(t, ended, "the launcher did not start")
			log := here.logs(launcher.Name)
			t.Logf("output of the launcher:\n%s", log)
			over := ended[0].State.Terminated
			if over == nil {
				t.Fatalf("the launcher did not end; worker:\n%s", explainStatus(pods[r.job().workerName(0)]))
			}
			require.Equal(t, r.code, int(over.ExitCode))
			r.requireSaid(t, s.name, log)
			if r.within > 0 {
				from := over.StartedAt.Time
				for _, c := range pods[r.job().workerName(0)].Status.ContainerStatuses {
					if c.State.Running != nil && c.State.Running.StartedAt.After(from) { // on a busy machine, long after
						from = c.State.Running.StartedAt.Time
					}
				}
				require.LessOrEqual(t, over.FinishedAt.Sub(from), r.within)
			}
			if r.code != 0 {
				require.Contains(t, over.Message, "(exit code", "no termination message")
			}
		})
	}
}

// requireSaid requires that each regular expression matches one of the launcher's lines.
func (r explainRow) requireSaid(t *testing.T, namespace, log string) {
	t.Helper()
	lines := strings.Split(log, "\n")
	for _, want := range r.says {
		want = strings.NewReplacer("POD", r.job().workerName(0), "NS", namespace).Replace(want)
		expr := regexp.MustCompile(want)
		require.True(t, slices.ContainsFunc(lines, expr.MatchString), "no line matches %q in:\n%s", want, log)
	}
}

// explainEnds waits until the launchers of all rows have ended, or the time limit is reached, and returns all pods
// of the namespace.
func explainEnds(s *space, rows []explainRow) map[string]corev1.Pod {
	s.t.Helper()
	for deadline := time.Now().Add(explainLimit); ; {
		pods := explainPods(s)
		left := 0
		for _, r := range rows {
			statuses := pods[r.job().launcherName()].Status.ContainerStatuses
			if len(statuses) == 0 || statuses[0].State.Terminated == nil {
				left++
			}
		}
		if left == 0 || time.Now().After(deadline) {
			return pods
		}
		time.Sleep(2 * time.Second) // forty watches would cost more
	}
}

func explainPods(s *space) map[string]corev1.Pod {
	s.t.Helper()
	var list corev1.PodList
	require.NoError(s.t, json.Unmarshal([]byte(s.kubectl("get", "pods", "-o", "json")), &list))
	pods := map[string]corev1.Pod{}
	for _, pod := range list.Items {
		pods[pod.Name] = pod
	}
	return pods
}

func explainStatus(pod corev1.Pod) string {
	text, _ := json.MarshalIndent(pod.Status, "", " ") // a status can always be encoded
	return string(text)
}

// TestExplainPods checks that a problem with a pod is reported in Kubernetes' own words, with the pod's name and a
// hint. The wait ends early if waiting cannot help.
func TestExplainPods(t *testing.T) {
	t.Parallel()
	explain(t, newSpace(t), slices.Concat(schedulingRows(), imageRows(), startRows(), endRows()))
}

// TestExplainLinks checks the same for problems between the launcher and an agent in a running container.
func TestExplainLinks(t *testing.T) {
	t.Parallel()
	explain(t, newSpace(t), slices.Concat(agentRows(), rightsRows()))
}

// agentRows returns rows whose container runs, but whose agent is wrong.
func agentRows() []explainRow {
	return []explainRow{
		{
			name: "noagent", code: names.ExitHopeless, flags: []string{"--worker-agent=/opt/bin/agent"},
			says: []string{`^agent: wait for workers: POD: container worker has no agent \(/opt/bin/agent\): stat /opt/bin/agent: no such file or directory$`, `^hint: set spec.agent.delivery: auto .*--worker-agent`},
		},
		{
			// The agent's own image has the agent at /agent, and nothing at the path that mpirun's daemons would
			// call.
			name: "norsh", code: names.ExitHopeless, flags: []string{"--worker-agent=/agent"}, command: []string{"mpirun", "true"},
			worker: func(pod *corev1.Pod) { first(pod).Image = image("agent") },
			says: []string{
				`^agent: wait for workers: POD: the rsh agent /muster/agent does not exist in its container; mpirun would hang`,
				`^hint: put the agent at the same path in the launcher's and the workers' images$`,
			},
		},
		{
			// A script need not start an mpirun.
			name: "norshscript", flags: []string{"--worker-agent=/agent"}, command: []string{"sh", "-c", "true"},
			worker: func(pod *corev1.Pod) { first(pod).Image = image("agent") },
			says: []string{
				`^agent: POD: the rsh agent /muster/agent does not exist in its container; mpirun would hang if the command starts Open MPI's$`,
				`^hint: put the agent at the same path in the launcher's and the workers' images$`,
			},
		},
		{
			// As in the old setup, PID 1 is a sleep instead of the agent.
			name: "sleeps", flags: slowly, code: names.ExitDeadline, worker: instead("sleep 300"),
			says: []string{"POD: container worker runs, but no `agent worker` runs in it", "hint: set the command of the container to `agent worker`"},
		},
		{
			name: "otherjob", code: names.ExitHopeless,
			worker: func(pod *corev1.Pod) {
				first(pod).Env = []corev1.EnvVar{{Name: names.EnvJob, Value: "another"}}
			},
			says: []string{`^agent: wait for workers: POD: .*another.*`, `^hint: --selector picks pods of another job`},
		},
		{
			// The handshake decides readiness: a failing probe does not matter.
			name: "notready", code: 0,
			worker: func(pod *corev1.Pod) {
				first(pod).ReadinessProbe = &corev1.Probe{PeriodSeconds: 2, ProbeHandler: corev1.ProbeHandler{
					Exec: &corev1.ExecAction{Command: []string{"/bin/false"}}}}
			},
			says: []string{`^agent: 1/1 ready`},
		},
	}
}

// reading adds the right to list a resource.
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

// rightsRows returns rows in which the API server refuses a request, or cannot be reached.
func rightsRows() []explainRow {
	return []explainRow{
		{
			name: "noexec", code: names.ExitForbidden, role: without("pods/exec"), within: time.Minute,
			says: []string{
				`^agent: 0/1 ready, \d+s; POD Forbidden: no permission to exec into the pod`, // at once
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
			says: []string{`^agent: the cluster cannot be reached: .*connection refused$`, `^hint: check whether the API server runs`},
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

// forged mounts another token over the pod's own.
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
