package jobs

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

func TestOutputDir(t *testing.T) {
	env := func(value string) []corev1.EnvVar { return []corev1.EnvVar{{Name: "MUSTER_OUTPUT", Value: value}} }
	for want, own := range map[string]corev1.Container{
		"/logs":    {Env: env("dir=/logs/")},
		"/a":       {Env: env("dir=/b"), Command: []string{"/muster/agent", "run", "--output=dir=/a", "--", "x"}},
		"/c":       {Args: []string{"run", "--output", "dir=/c"}},
		"/code/d":  {Env: env("dir=d"), WorkingDir: "/code"},
		"/e":       {Env: env("dir=e")},
		"":         {Env: env("tag"), Command: []string{"agent", "run", "--", "program", "--output=dir=/theirs"}},
		"/f/of it": {Env: env("dir=/f/of it")},
	} {
		dir, bucket := outputDir(own)
		require.Equal(t, want, dir)
		require.Empty(t, bucket)
	}
	dir, bucket := outputDir(corev1.Container{Env: env("s3://logs/bert,dir=/a")})
	require.Equal(t, []string{"/a", "s3://logs/bert"}, []string{dir, bucket})
}

// TestTheOutputOfAProgram checks that an option of the user's program, or of mpirun, is not taken for one of
// agent run: the controller puts agent run before such a command.
func TestTheOutputOfAProgram(t *testing.T) {
	for _, own := range []corev1.Container{
		{Command: []string{"python", "train.py", "--output", "s3://models/bert"}},
		{Command: []string{"mpirun"}, Args: []string{"--output", "dir=/logs", "./program"}},
		{Args: []string{"train.py", "--output=dir=/models"}},
	} {
		dir, bucket := outputDir(own)
		require.Empty(t, dir+bucket, own)
		own.Env = []corev1.EnvVar{{Name: "MUSTER_OUTPUT", Value: "dir=/kept"}}
		dir, _ = outputDir(own)
		require.Equal(t, "/kept", dir, own)
	}
}

// TestTheArchiveInABucket checks that a user is sent to the bucket.
func TestTheArchiveInABucket(t *testing.T) {
	own := corev1.Container{Name: "main", Env: []corev1.EnvVar{{Name: "MUSTER_OUTPUT", Value: "s3://logs/bert"}}}
	job := &v1alpha1.LaunchJob{Spec: v1alpha1.LaunchJobSpec{Launcher: &v1alpha1.Launcher{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{own}}}}}}
	a, ok := archiveOf(job)
	require.True(t, ok)
	require.True(t, a.lasts())
	require.Equal(t, "s3://logs/bert", a.place())
	require.Equal(t, "agent logs --from=s3://logs/bert --rank=2", a.way(nil, job, new(2)))
}

// TestWhereTheArchiveIs checks which volume has the directory, and whether it outlives the pod.
func TestWhereTheArchiveIs(t *testing.T) {
	claim := corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "big"}}
	scratch := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	shared := corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: "nas", Path: "/"}}
	for dir, want := range map[string]struct {
		place string
		lasts bool
	}{
		"/logs":           {"/logs on PersistentVolumeClaim big", true},
		"/logs/bert":      {"/logs/bert on PersistentVolumeClaim big", true},
		"/logs/scratch/x": {"/logs/scratch/x on volume scratch", false},
		"/shared/a":       {"/shared/a on volume shared", true},
		"/logsbook":       {"/logsbook in the launcher's container", false},
	} {
		spec := corev1.PodSpec{
			Containers: []corev1.Container{{Name: "main", Env: []corev1.EnvVar{{Name: "MUSTER_OUTPUT", Value: "dir=" + dir}}, VolumeMounts: []corev1.VolumeMount{
				{Name: "scratch", MountPath: "/logs/scratch"}, {Name: "claim", MountPath: "/logs"}, {Name: "shared", MountPath: "/shared/"},
			}}},
			Volumes: []corev1.Volume{{Name: "claim", VolumeSource: claim}, {Name: "scratch", VolumeSource: scratch}, {Name: "shared", VolumeSource: shared}},
		}
		a, ok := archiveOf(&v1alpha1.LaunchJob{Spec: v1alpha1.LaunchJobSpec{Launcher: &v1alpha1.Launcher{Template: corev1.PodTemplateSpec{Spec: spec}}}})
		require.True(t, ok, dir)
		require.Equal(t, want.place, a.place())
		require.Equal(t, want.lasts, a.lasts(), dir)
	}
	_, ok := archiveOf(&v1alpha1.LaunchJob{})
	require.False(t, ok)
}
