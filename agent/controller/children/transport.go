package children

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/rendezvous"
)

// Names of the keys in the Secret of a job whose launcher reaches workers by network.
const (
	launcherKey = "launcher.key"
	workerKey   = "worker.key"
)

// KeyVolume is the name of the volume with the key of a pod. keyDir is where the volume is mounted.
const (
	KeyVolume = "muster-key"
	keyDir    = "/var/run/secrets/muster.dev/key"
)

// keyMode lets every user read a mounted key. The file belongs to root, and the user of a container
// may be any. A stricter mode would need an fsGroup, which changes the group of all volumes of the
// pod. Only the pod's own container has the mount, so the container is the boundary.
const keyMode = 0o444

// ByNetwork reports whether the launcher reaches its workers by the pod network.
func ByNetwork(job *v1alpha1.LaunchJob) bool {
	return job.Spec.Launcher != nil && slices.Contains([]string{"network", "auto"}, job.Spec.Transport)
}

// pair returns a new pair of keys, as package exec/secure writes them. That package has a protocol
// and its cryptography with it, which the controller does not link.
func pair() map[string]string {
	seed, secret := make([]byte, ed25519.SeedSize), make([]byte, 32)
	_, _ = rand.Read(seed) // never fails, or crashes the program (crypto/rand)
	_, _ = rand.Read(secret)
	verify := ed25519.NewKeyFromSeed(seed)[ed25519.SeedSize:]
	text := func(prefix string, first []byte) string {
		return prefix + base64.StdEncoding.EncodeToString(slices.Concat(first, secret)) + "\n"
	}
	return map[string]string{launcherKey: text("muster-launcher-key-1:", seed), workerKey: text("muster-worker-key-1:", verify)}
}

// MountKey gives a pod its key, and no other one. A container that names a key file has its own, and
// gets none. Workers with hostNetwork share the ports of their node, so they get a key only if they
// name an address to listen at.
func MountKey(job *v1alpha1.LaunchJob, launcher bool, spec *corev1.PodSpec, own *corev1.Container) {
	has := func(name string) bool {
		return slices.ContainsFunc(own.Env, func(v corev1.EnvVar) bool { return v.Name == name })
	}
	if !ByNetwork(job) || has(names.EnvKeyFile) || !launcher && spec.HostNetwork && !has(names.EnvListen) {
		return
	}
	key := workerKey
	if launcher {
		key = launcherKey
	}
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: KeyVolume, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
		SecretName: job.Status.TokenSecret, DefaultMode: new(int32(keyMode)), Items: []corev1.KeyToPath{{Key: key, Path: key}},
	}}})
	own.VolumeMounts = append(own.VolumeMounts, corev1.VolumeMount{Name: KeyVolume, MountPath: keyDir, ReadOnly: true})
	own.Env = append(own.Env, corev1.EnvVar{Name: names.EnvKeyFile, Value: keyDir + "/" + key})
}

// OtherKey reports whether a pod has a key from another Secret of the controller than this one.
func OtherKey(spec *corev1.PodSpec, secret string) bool {
	return slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool {
		return v.Name == KeyVolume && v.Secret != nil && v.Secret.SecretName != secret
	})
}

// Waits reports whether a pod that has not started may be waiting for the Secret of its job. The
// kubelet reports a variable that it cannot set as a configuration error of the container. It
// reports a missing volume only in events.
func Waits(job *v1alpha1.LaunchJob, pod *corev1.Pod, own corev1.ContainerStatus, now time.Time) bool {
	if ByNetwork(job) {
		return rendezvous.Stuck(pod, now)
	}
	return own.State.Waiting != nil && own.State.Waiting.Reason == "CreateContainerConfigError"
}
