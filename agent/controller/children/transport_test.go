package children

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/exec/secure"
)

func byNetwork(j *v1alpha1.LaunchJob) { j.Spec.Transport = "network" }

// TestKeysAreThoseOfSecure checks that the programs which read the keys read those of the
// controller, and that both keys are of one pair.
func TestKeysAreThoseOfSecure(t *testing.T) {
	require.Equal(t, []string{secure.LauncherFile, secure.WorkerFile}, []string{launcherKey, workerKey})
	made := map[string]bool{}
	for range 2 {
		secret := Secret(aLaunched(byNetwork), "")
		require.Equal(t, "pi-keys-", secret.GenerateName)
		require.True(t, *secret.Immutable)
		require.Len(t, secret.StringData, 2)
		launcher, err := secure.ParseLauncherKey(secret.StringData[launcherKey])
		require.NoError(t, err)
		require.Equal(t, launcher.Text(), secret.StringData[launcherKey])
		require.Equal(t, launcher.Worker().Text(), secret.StringData[workerKey])
		made[launcher.Text()] = true
	}
	require.Len(t, made, 2, "each pair is new")
}

// TestByNetwork checks which jobs have keys.
func TestByNetwork(t *testing.T) {
	for transport, want := range map[string]bool{"": false, "exec": false, "network": true, "auto": true} {
		job := aLaunched(func(j *v1alpha1.LaunchJob) { j.Spec.Transport = transport })
		require.Equal(t, want, ByNetwork(job), transport)
		job.Spec.Launcher = nil
		require.False(t, ByNetwork(job), transport)
	}
}

// TestKeysAreReadable checks that a key is readable by a user that no image knows, without a group of
// volumes, and that its mount cannot be written.
func TestKeysAreReadable(t *testing.T) {
	spec := &corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}
	job := aLaunched(byNetwork)
	job.Status.TokenSecret = "pi-keys-a"
	MountKey(job, false, spec, &spec.Containers[0])
	require.EqualValues(t, 0o444, *spec.Volumes[0].Secret.DefaultMode)
	require.Nil(t, spec.SecurityContext)
	require.True(t, spec.Containers[0].VolumeMounts[0].ReadOnly)
	require.False(t, OtherKey(spec, "pi-keys-a"))
	require.True(t, OtherKey(spec, "pi-keys-b"))
	require.False(t, OtherKey(&corev1.PodSpec{Volumes: []corev1.Volume{{Name: "theirs"}}}, "pi-keys-b"))
}

// TestWaits checks how a pod looks that waits for its Secret.
func TestWaits(t *testing.T) {
	at := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	waiting := func(reason string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}
	}
	pod := func(age time.Duration, own corev1.ContainerStatus) *corev1.Pod {
		started := metav1.NewTime(at.Add(-age))
		return &corev1.Pod{Spec: corev1.PodSpec{NodeName: "node1", Containers: []corev1.Container{{Name: "main"}}},
			Status: corev1.PodStatus{Phase: corev1.PodPending, StartTime: &started, ContainerStatuses: []corev1.ContainerStatus{own}}}
	}
	for name, tc := range map[string]struct {
		change func(*v1alpha1.LaunchJob)
		own    corev1.ContainerStatus
		age    time.Duration
		want   bool
	}{
		"a variable":           {func(*v1alpha1.LaunchJob) {}, waiting("CreateContainerConfigError"), 0, true},
		"a member is prepared": {func(*v1alpha1.LaunchJob) {}, waiting("ContainerCreating"), time.Minute, false},
		"a member runs":        {func(*v1alpha1.LaunchJob) {}, corev1.ContainerStatus{Name: "main"}, time.Minute, false},
		"a volume":             {byNetwork, waiting("ContainerCreating"), 10 * time.Second, true},
		"behind an init":       {byNetwork, waiting("PodInitializing"), 10 * time.Second, true},
		"a usual start":        {byNetwork, waiting("ContainerCreating"), time.Second, false},
	} {
		require.Equal(t, tc.want, Waits(aLaunched(tc.change), pod(tc.age, tc.own), tc.own, at), name)
	}
}
