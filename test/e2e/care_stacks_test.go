//go:build e2e

package e2e

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/test/suite/care"
)

const scriptsDir = "/scripts"

// submitRole returns the Role of docs/guides/submit.md.
func submitRole(t *testing.T) map[string]any {
	t.Helper()
	page, err := os.ReadFile("../../docs/guides/submit.md")
	require.NoError(t, err)
	block := regexp.MustCompile("(?s)```yaml\n(apiVersion: rbac.*?)```").FindSubmatch(page)
	require.NotNil(t, block)
	var role map[string]any
	require.NoError(t, yaml.Unmarshal(block[1], &role))
	return role
}

// withScript mounts a program of test/suite/care at /scripts, and an empty directory to work in.
func withScript(j *v1alpha1.LaunchJob) {
	for _, pod := range []*corev1.PodSpec{&j.Spec.Launcher.Template.Spec, &j.Spec.Roles[0].Template.Spec} {
		pod.Volumes = append(pod.Volumes,
			corev1.Volume{Name: "scripts", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "scripts"}}}},
			corev1.Volume{Name: "work", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
		own := &pod.Containers[0]
		own.VolumeMounts = append(own.VolumeMounts, corev1.VolumeMount{Name: "scripts", MountPath: scriptsDir}, corev1.VolumeMount{Name: "work", MountPath: "/work"})
		own.WorkingDir = "/work"
	}
}

// TestCareStacks runs three ranks, of which one hangs. `agent stacks JOB` on a user's machine names that rank with
// its line. The rights of docs/guides/submit.md are enough. Without pods/exec, a message names the missing right.
func TestCareStacks(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	withController(t)
	source, err := care.Source("hung.py")
	require.NoError(t, err)
	role := submitRole(t)
	s.kubectl("create", "serviceaccount", "person")
	s.kubectl("create", "serviceaccount", "reader")
	s.kubectl("create", "role", "reader", "--verb=get,list", "--resource=pods,launchjobs.muster.dev")
	s.apply(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "scripts"}, "data": map[string]string{"hung.py": string(source)}}, role)
	s.kubectl("create", "rolebinding", "person", "--role=submit-jobs", "--serviceaccount="+s.name+":person")
	s.kubectl("create", "rolebinding", "reader", "--role=reader", "--serviceaccount="+s.name+":reader")
	command := []string{"sh", "-c", "HUNG_HOST=$MASTER_ADDR exec python3 " + scriptsDir + "/hung.py plain sleep 0 29555"}
	alone := launchJob(t, "alone", nil, withWorkers(1))
	alone.Spec.Launcher, alone.Spec.Framework = nil, "plain"
	alone.Spec.Roles[0].Template.Spec.Containers[0].Command = []string{"sleep", "300"}
	s.launch(launchJob(t, "bert", command, withWorkers(3), withScript, func(j *v1alpha1.LaunchJob) { j.Spec.Framework = "plain" }), alone)
	agent, person, reader := cli(t), s.configFor("person"), s.configFor("reader")
	log := s.follow("bert-launcher")
	for range 3 {
		log.until(2*time.Minute, "is there")
	}

	// The ranks have met, and need a moment until they wait.
	var end typed
	require.Eventually(t, func() bool {
		end = s.agent(agent, time.Minute, "stacks", "--kubeconfig", person, "bert")
		return end.code == 0 && strings.Contains(end.out, "rank 1 on bert-worker-1 is not waiting")
	}, 30*time.Second, time.Second, "%v", &end)
	t.Log(end.out)
	require.Regexp(t, `(?m)^ranks 0, 2 are waiting .*; rank 1 on bert-worker-1 is not waiting: sleeping at hung\.py:\d+ load_batch$`, end.out)
	require.Regexp(t, `(?m)^ +rank 1 on bert-worker-1: sleeping at hung\.py:\d+ load_batch \(python3?, pid \d+`, end.out)
	require.Regexp(t, `(?m)^ +File "/scripts/hung\.py", line \d+ in load_batch$`, end.out)
	one := s.agent(agent, time.Minute, "stacks", "--kubeconfig", person, "bert", "2")
	require.Zero(t, one.code, one.err)
	require.Contains(t, one.out, "rank 2 on bert-worker-2")
	require.NotContains(t, one.out, "load_batch")

	refused := s.agent(agent, time.Minute, "stacks", "--kubeconfig", reader, "bert")
	require.Equal(t, names.ExitForbidden, refused.code, refused.err)
	require.Contains(t, refused.err, "pods/exec")
	s.becomes("alone", time.Minute, "running", inPhase(v1alpha1.PhaseRunning))
	none := s.agent(agent, time.Minute, "stacks", "--kubeconfig", person, "alone")
	require.Equal(t, names.ExitUsage, none.code, none.err)
	require.Contains(t, none.err, "agent: alone has no launcher: only a launcher can ask all ranks\n")
}
