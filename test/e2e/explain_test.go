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

	"github.com/musterhq/muster/agent/names"
)

// explainRow is a launcher that waits in vain, and what it must say.
type explainRow struct {
	name     string
	workers  int // wanted; 0: one
	created  int // of these; 0: all, negative: none
	flags    []string
	command  []string           // nil: true
	worker   func(*corev1.Pod)  // what is wrong with the workers
	launcher func(*corev1.Pod)  // what is wrong with the launcher
	role     func(*rbacv1.Role) // what is wrong with its rights
	code     int
	// says are regular expressions, one line of the launcher's each; POD stands
	// for the first worker's name, NS for the namespace.
	says []string
	// within is how soon after its start the launcher must have ended; 0: the
	// row does not say.
	within time.Duration
}

// explainLimit is how long all rows of a group may take together.
const explainLimit = 4 * time.Minute

// slowly is for states that waiting might still change: the launcher gives up
// at the deadline only. It is long enough for forty pods that start at once.
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

// explain starts every row in s at once, as what they wait for takes its time
// and no power, and looks at each when all have ended.
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
			require.True(t, ok, "the launcher is gone")
			ended := launcher.Status.ContainerStatuses
			require.NotEmpty(t, ended, "the launcher has not begun")
			log := here.logs(launcher.Name)
			t.Logf("the launcher said:\n%s", log)
			over := ended[0].State.Terminated
			if over == nil {
				t.Fatalf("the launcher has not ended; worker:\n%s", explainStatus(pods[r.job().workerName(0)]))
			}
			require.Equal(t, r.code, int(over.ExitCode))
			r.requireSaid(t, s.name, log)
			if r.within > 0 {
				require.LessOrEqual(t, over.FinishedAt.Sub(over.StartedAt.Time), r.within)
			}
			if r.code != 0 {
				require.Contains(t, over.Message, "(exit code", "no termination message")
			}
		})
	}
}

// requireSaid: each sentence stands in one of the launcher's lines.
func (r explainRow) requireSaid(t *testing.T, namespace, log string) {
	t.Helper()
	lines := strings.Split(log, "\n")
	for _, want := range r.says {
		want = strings.NewReplacer("POD", r.job().workerName(0), "NS", namespace).Replace(want)
		expr := regexp.MustCompile(want)
		require.True(t, slices.ContainsFunc(lines, expr.MatchString), "no line matches %q in:\n%s", want, log)
	}
}

// explainEnds waits until the launchers of all rows have ended, or the time is
// over, and gives all pods of the namespace.
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
	text, _ := json.MarshalIndent(pod.Status, "", " ") // a status is always encodable
	return string(text)
}

// TestExplainPods: what is wrong with a pod is said in Kubernetes' own words,
// with the pod's name and a way out; the wait ends early where it cannot help.
func TestExplainPods(t *testing.T) {
	t.Parallel()
	explain(t, newSpace(t), slices.Concat(schedulingRows(), imageRows(), startRows(), endRows()))
}

// TestExplainLinks: the same for what stands between the launcher and an agent
// in a container that runs.
func TestExplainLinks(t *testing.T) {
	t.Parallel()
	explain(t, newSpace(t), slices.Concat(agentRows(), rightsRows()))
}
