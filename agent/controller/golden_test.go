package controller

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/controller/children"
	"github.com/musterhq/muster/agent/controller/gang"
	"github.com/musterhq/muster/agent/controller/kueue"
)

var update = flag.Bool("update", false, "write the golden files")

// TestObjects compares every object of a job with a golden file.
func TestObjects(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			job := aJob(t, name)
			job.Status.TokenSecret = job.Name + "-token-abcde"
			b := aBuilder(job)
			require.NoError(t, refuse(b))
			var text []byte
			for _, o := range objects(t, b) {
				part, err := yaml.Marshal(o)
				require.NoError(t, err)
				text = append(append(text, "---\n"...), part...)
			}
			golden := "testdata/" + name + ".golden"
			if *update {
				require.NoError(t, os.WriteFile(golden, text, 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), string(text))
		})
	}
}

// objects returns all objects of a job except a token, which is random.
func objects(t *testing.T, b builder) []any {
	var all []any
	for _, child := range children.First(b.job, b.workerNames()) {
		all = append(all, child)
	}
	if b.job.Spec.Launcher != nil {
		all = append(all, children.Role(b.job, b.workerNames(), true), children.Binding(b.job))
	}
	if g := b.gang().Object(children.Meta(b.job, b.job.Name), "v1"); g != nil {
		all = append(all, g)
	}
	if gang.Backend(b.job) == gang.Kueue {
		all = append(all, workloadOf(t, b.job))
	}
	for _, s := range b.slots {
		all = append(all, b.pod(s, s.name))
	}
	return all
}

// workloadOf returns the Workload of a job that has none yet.
func workloadOf(t *testing.T, job *v1alpha1.LaunchJob) *unstructured.Unstructured {
	want := (&Reconciler{AgentImage: "registry.example.com/muster-agent:1"}).request(t.Context(), job, "v1beta2")
	want.Priority = &kueue.Priority{Class: want.Labels.PriorityClass(), OfKueue: true, Value: 5}
	d, err := kueue.Decide(kueue.View{Want: want})
	require.NoError(t, err)
	return d.Object
}

// TestTemplatePassesThrough checks that everything in the user's template is unchanged in the pod.
func TestTemplatePassesThrough(t *testing.T) {
	job := aJob(t, "mpi")
	spec := &job.Spec.Roles[0].Template.Spec
	spec.PriorityClassName, spec.SchedulerName, spec.NodeSelector = "high", "own", map[string]string{"gpu": "a100"}
	spec.Volumes = []corev1.Volume{{Name: "data"}}
	spec.Containers[1].ReadinessProbe = &corev1.Probe{PeriodSeconds: 7}
	spec.Containers[1].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/dev/shm/"}}
	spec.Containers[1].Command = []string{"sh", "-c", "prepare && exec agent worker"}
	spec.DeprecatedServiceAccount = "old"
	b := aBuilder(job)
	pod := b.pod(b.slots[1], b.slots[1].name)
	require.Equal(t, "high", pod.Spec.PriorityClassName)
	require.Equal(t, "own", pod.Spec.SchedulerName)
	require.Equal(t, map[string]string{"gpu": "a100"}, pod.Spec.NodeSelector)
	require.Equal(t, spec.Volumes, pod.Spec.Volumes, "the user's /dev/shm is kept")
	require.Equal(t, spec.Containers[1].ReadinessProbe, pod.Spec.Containers[1].ReadinessProbe)
	require.Equal(t, spec.Containers[1].Command, pod.Spec.Containers[1].Command)
	require.Equal(t, "old", pod.Spec.DeprecatedServiceAccount)
	require.Nil(t, pod.Spec.AutomountServiceAccountToken, "a template that names an account needs its token")
	require.Equal(t, "hpc", pod.Labels["team"])
	require.Equal(t, spec.Containers[0], pod.Spec.Containers[0], "a sidecar is not changed")
	require.Len(t, spec.Tolerations, 1, "the job itself is not changed")
}

func TestRefuse(t *testing.T) {
	for name, tc := range map[string]struct {
		job    string
		change func(*v1alpha1.LaunchJob)
		want   string
	}{
		"missing container": {"mpi", func(j *v1alpha1.LaunchJob) { j.Spec.Roles[0].Container = "x" }, "has no container x"},
		"injected, no command in the launcher": {"volcano", func(j *v1alpha1.LaunchJob) { j.Spec.Launcher.Template.Spec.Containers[0].Command = nil },
			"the launcher's container main has no command, and agent.delivery: imageVolume requires one"},
		"injected, no command, restarts":            {"static", func(j *v1alpha1.LaunchJob) { j.Spec.RestartPolicy = &v1alpha1.RestartPolicy{MaxRestarts: 1} }, "the agent cannot restart its process"},
		"injected, no command in one role":          {"compat", func(j *v1alpha1.LaunchJob) { j.Spec.Roles[1].Template.Spec.Containers[0].Command = nil }, "into every template, or into none"},
		"injected, no command, unknown to Kubeflow": {"compat-static", func(j *v1alpha1.LaunchJob) { j.Spec.Framework = "ray" }, "--compat=kubeflow-v1 does not support --framework=ray"},
		"injected, no command, ray":                 {"static", func(j *v1alpha1.LaunchJob) { j.Spec.Framework = "ray" }, "its ranks are not known before the pods start"},
		"two gangs": {"volcano", func(j *v1alpha1.LaunchJob) {
			j.Spec.Roles[0].Template.Labels = map[string]string{"scheduling.x-k8s.io/pod-group": "x"}
		}, "two gang schedulers: volcano by spec.gang or a template, and coscheduling by the template of ps"},
		"two gangs, one by a label of the job": {"volcano", func(j *v1alpha1.LaunchJob) { j.Labels = map[string]string{"kueue.x-k8s.io/queue-name": "q"} }, "and kueue by the labels of the LaunchJob"},
		"a volume with the name of ours": {"mpi", func(j *v1alpha1.LaunchJob) {
			j.Spec.Roles[0].Template.Spec.Volumes = []corev1.Volume{{Name: shmVolume}}
		}, "rename the volume"},
	} {
		t.Run(name, func(t *testing.T) {
			job := aJob(t, tc.job)
			tc.change(job)
			require.ErrorContains(t, refuse(aBuilder(job)), tc.want)
		})
	}
}
