package controller

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/controller/children"
	"github.com/musterhq/muster/exec/names"
)

// keyOf returns the only key that the slot's container mounts, and the variable that names its file.
func keyOf(t *testing.T, s slot, pod *corev1.Pod) (key, file string) {
	t.Helper()
	for _, v := range pod.Spec.Volumes {
		if v.Secret != nil {
			require.Len(t, v.Secret.Items, 1)
			key = v.Secret.Items[0].Key
		}
	}
	for _, c := range pod.Spec.Containers {
		for _, m := range c.VolumeMounts {
			require.False(t, m.Name == children.KeyVolume && (c.Name != s.container || !m.ReadOnly), "only the slot's own container reads the key")
		}
	}
	for _, v := range s.own(&pod.Spec).Env {
		if v.Name == names.EnvKeyFile {
			file = v.Value
		}
	}
	return key, file
}

// TestKeysAreMountedApart checks which pod has which key.
func TestKeysAreMountedApart(t *testing.T) {
	const dir = "/var/run/secrets/muster.dev/key/"
	type keys = map[string][2]string
	both := keys{"launcher": {"launcher.key", dir + "launcher.key"}, "worker": {"worker.key", dir + "worker.key"}}
	none := [2]string{}
	worker := func(change func(*corev1.PodSpec)) func(*v1alpha1.LaunchJob) {
		return func(j *v1alpha1.LaunchJob) { change(&j.Spec.Roles[0].Template.Spec) }
	}
	set := func(name, value string) func(*corev1.PodSpec) {
		return func(s *corev1.PodSpec) {
			s.HostNetwork = true
			s.Containers[1].Env = append(s.Containers[1].Env, corev1.EnvVar{Name: name, Value: value})
		}
	}
	for name, tc := range map[string]struct {
		change func(*v1alpha1.LaunchJob)
		want   keys
	}{
		"network":     {func(*v1alpha1.LaunchJob) {}, both},
		"auto":        {func(j *v1alpha1.LaunchJob) { j.Spec.Transport = "auto" }, both},
		"exec":        {func(j *v1alpha1.LaunchJob) { j.Spec.Transport = "exec" }, keys{"launcher": none, "worker": none}},
		"the default": {func(j *v1alpha1.LaunchJob) { j.Spec.Transport = "" }, keys{"launcher": none, "worker": none}},
		"members":     {func(j *v1alpha1.LaunchJob) { j.Spec.Launcher, j.Spec.Framework = nil, "plain" }, keys{"worker": none}},
		"a key of the template": {worker(set(names.EnvKeyFile, "/mine")),
			keys{"launcher": both["launcher"], "worker": {"", "/mine"}}},
		"hostNetwork": {worker(func(s *corev1.PodSpec) { s.HostNetwork = true }),
			keys{"launcher": both["launcher"], "worker": none}},
		"hostNetwork with an address": {worker(set(names.EnvListen, ":9400")), both},
	} {
		t.Run(name, func(t *testing.T) {
			job := aJob(t, "transport")
			tc.change(job)
			job.Status.TokenSecret = "pi-keys-abcde"
			b, got := aBuilder(job), keys{}
			for _, s := range b.slots {
				key, file := keyOf(t, s, b.pod(s, s.name))
				got[s.role] = [2]string{key, file}
			}
			require.Equal(t, tc.want, got)
		})
	}
}

// TestTheKeyVolumeIsOurs checks that a template with a volume of that name is refused, if the
// controller needs the name.
func TestTheKeyVolumeIsOurs(t *testing.T) {
	job := aJob(t, "transport")
	job.Spec.Roles[0].Template.Spec.Volumes = []corev1.Volume{{Name: children.KeyVolume}}
	require.EqualError(t, refuse(aBuilder(job)), "the template of worker has a volume muster-key, which is the name of one of Muster's volumes: rename the volume")
	job.Spec.Transport = "exec"
	require.NoError(t, refuse(aBuilder(job)))
}

// keyed is the kind of job whose launcher reaches workers by network.
var keyed = kindsOfJob[4]

// TestAnotherTransport checks that a suspended job can change its transport, and keeps its keys.
func TestAnotherTransport(t *testing.T) {
	s := aStory(t, 0, false)
	require.NoError(t, s.truth.Create(t.Context(), keyed.job(s.key)))
	s.running(keyed)
	made := s.job().Status.TokenSecret
	for _, to := range [][2]string{{"exec", ""}, {"network", made}} {
		s.suspend(true)
		job := s.job()
		job.Spec.Transport = to[0]
		require.NoError(t, s.truth.Update(t.Context(), job))
		s.suspend(false)
		require.Len(t, s.pods(), 3)
		for _, p := range s.pods() {
			require.Equal(t, to[1], secretOf(p))
		}
	}
	require.NoError(t, s.truth.Get(t.Context(), client.ObjectKey{Namespace: s.key.Namespace, Name: made}, &corev1.Secret{}))
}
