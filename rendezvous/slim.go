package rendezvous

import corev1 "k8s.io/api/core/v1"

// slim removes what this package never reads from a pod: most of its size. A launcher keeps the pods
// of all its workers, which may be ten thousand.
func slim(pod *corev1.Pod) {
	pod.ManagedFields = nil
	delete(pod.Annotations, corev1.LastAppliedConfigAnnotation)
	s := &pod.Spec
	s.Volumes, s.Affinity, s.Tolerations, s.TopologySpreadConstraints = nil, nil, nil, nil
	s.SecurityContext, s.ImagePullSecrets, s.HostAliases, s.DNSConfig = nil, nil, nil, nil
	s.EphemeralContainers, pod.Status.EphemeralContainerStatuses = nil, nil
	for _, containers := range [][]corev1.Container{s.InitContainers, s.Containers} {
		for i := range containers {
			c := &containers[i]
			c.VolumeMounts, c.VolumeDevices, c.EnvFrom, c.Ports = nil, nil, nil, nil
			c.LivenessProbe, c.ReadinessProbe, c.StartupProbe = nil, nil, nil
			c.Lifecycle, c.SecurityContext = nil, nil
		}
	}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			statuses[i].VolumeMounts = nil
		}
	}
}
