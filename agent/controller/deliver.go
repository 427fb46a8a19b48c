package controller

import (
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/exec/names"
)

// agentVolume is the name of the volume and of the init container that deliver the agent.
const agentVolume = "muster-agent"

// deliver puts the agent at /muster in the slot's container, in one of two ways. It does nothing
// for an image that contains the agent.
func (b builder) deliver(s slot, spec *corev1.PodSpec) {
	own := s.own(spec)
	dir := path.Dir(names.AgentPath)
	if delivery(b.job) == baked || !b.wanted(s) {
		return
	}
	volume, mount := corev1.Volume{Name: agentVolume}, corev1.VolumeMount{Name: agentVolume, MountPath: dir}
	if d := delivery(b.job); d == imageVolume || d == auto && b.volumes {
		volume.Image = &corev1.ImageVolumeSource{Reference: b.image, PullPolicy: corev1.PullIfNotPresent}
	} else {
		volume.EmptyDir = &corev1.EmptyDirVolumeSource{}
		small := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("16Mi")}
		spec.InitContainers = append([]corev1.Container{{
			Name: agentVolume, Image: b.image, ImagePullPolicy: corev1.PullIfNotPresent,
			Args:         []string{"install", dir},
			VolumeMounts: []corev1.VolumeMount{mount},
			Resources: corev1.ResourceRequirements{Requests: small, Limits: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("64Mi"),
			}},
			SecurityContext: installRights(own.SecurityContext),
		}}, spec.InitContainers...)
	}
	mount.ReadOnly = true
	spec.Volumes, own.VolumeMounts = append(spec.Volumes, volume), append(own.VolumeMounts, mount)
}

// wanted reports whether the agent runs in the slot's container.
func (b builder) wanted(s slot) bool { return b.job.Spec.Launcher != nil || !b.unwrapped(s) }

// installRights returns the security context of the container that copies the agent. It has the few
// rights that Pod Security "restricted" allows, and the user of the container that gets the agent.
func installRights(of *corev1.SecurityContext) *corev1.SecurityContext {
	rights := &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	if of != nil {
		rights.RunAsUser, rights.RunAsGroup, rights.RunAsNonRoot, rights.SeccompProfile = of.RunAsUser, of.RunAsGroup, of.RunAsNonRoot, of.SeccompProfile
	}
	return rights
}

const shmVolume, shmPath = "muster-shm", "/dev/shm"

// shm gives a container with ranks a /dev/shm that is larger than the runtime's 64 MiB. MPI and
// other libraries pass messages between the ranks of one node there.
func (b builder) shm(s slot, spec *corev1.PodSpec) {
	own := s.own(spec)
	given := slices.ContainsFunc(own.VolumeMounts, func(m corev1.VolumeMount) bool { return path.Clean(m.MountPath) == shmPath })
	size, want := shmSize(b.job)
	if given || s.launcher() && b.job.Spec.Launcher.Slots == 0 || !want {
		return
	}
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: shmVolume, VolumeSource: corev1.VolumeSource{
		EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: size},
	}})
	own.VolumeMounts = append(own.VolumeMounts, corev1.VolumeMount{Name: shmVolume, MountPath: shmPath})
}

// shmSize returns the user's size. The default for frameworks that need one has no limit except the
// pod's memory.
func shmSize(job *v1alpha1.LaunchJob) (size *resource.Quantity, want bool) {
	if job.Spec.Shm != nil {
		q, err := resource.ParseQuantity(string(*job.Spec.Shm))
		return &q, err == nil && !q.IsZero()
	}
	switch job.Spec.Framework {
	case "plain", "tensorflow", "jax", "xgboost", "lightgbm":
		return nil, false
	case "", "auto":
		return nil, job.Spec.Launcher != nil
	}
	return nil, true
}
