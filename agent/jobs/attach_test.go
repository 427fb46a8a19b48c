package jobs

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/exec/names"
)

// TestAWorkerIsNoLauncher checks that a launcher that does not run is not mistaken for worker 0, which does.
// What only a launcher can answer, such as agent doctor, would then be about that worker.
func TestAWorkerIsNoLauncher(t *testing.T) {
	job := &v1alpha1.LaunchJob{ObjectMeta: metav1.ObjectMeta{Name: "talk", Namespace: "ns"}}
	job.Spec.Launcher = &v1alpha1.Launcher{}
	s, _, _, api := newWire(t, job)
	launcher, worker := talker(0, corev1.ContainerState{}), talker(0, corev1.ContainerState{})
	launcher.Name = "talk-launcher"
	launcher.Labels = map[string]string{names.LabelJob: "talk", names.LabelPod: launcher.Name, names.LabelRole: names.RoleLauncher}
	launcher.Status.Phase = corev1.PodPending
	s.Set(launcher)
	s.Set(worker)
	runs, err := api.LauncherRuns(t.Context(), job)
	require.NoError(t, err)
	require.False(t, runs)
	for _, at := range []Attach{{Launcher: true}, {}} {
		_, found := at.choose(job, podsOf("talk", []corev1.Pod{*launcher, *worker}))
		require.False(t, found)
	}
	launcher.Status.Phase = corev1.PodRunning
	s.Set(launcher)
	runs, err = api.LauncherRuns(t.Context(), job)
	require.NoError(t, err)
	require.True(t, runs)
	m, _ := Attach{}.choose(job, podsOf("talk", []corev1.Pod{*launcher, *worker}))
	require.Equal(t, "launcher", m.name)
	m, _ = Attach{}.choose(&v1alpha1.LaunchJob{}, podsOf("talk", []corev1.Pod{*worker}))
	require.Equal(t, "worker-0", m.name, "a job without a launcher has rank 0")
}
