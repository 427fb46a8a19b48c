package kube

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Restricted is a pod of a job with one container, as Pod Security's level "restricted" wants it. A
// launcher has the service account of its name, any other role has no token.
func Restricted(name, job, role, image string, args []string) *corev1.Pod {
	id, yes, no := int64(1000), true, false
	pod := &corev1.Pod{TypeMeta: Kind("v1", "Pod"),
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"muster.dev/job": job, "muster.dev/role": role}},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: &yes, RunAsUser: &id, RunAsGroup: &id,
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Containers: []corev1.Container{{
				Name: role, Image: image, ImagePullPolicy: corev1.PullNever, Args: args,
				SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: &no, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("32Mi")}},
			}},
		}}
	if role == "launcher" {
		pod.Spec.ServiceAccountName = name
	} else {
		pod.Spec.AutomountServiceAccountToken = &no
	}
	return pod
}

// Mount gives a pod's first container a directory of this machine, which the nodes see too.
func Mount(pod *corev1.Pod, name, from, to string, readOnly bool) {
	directory := corev1.HostPathDirectory
	mount(pod, corev1.VolumeMount{Name: name, MountPath: to, ReadOnly: readOnly},
		corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: from, Type: &directory}})
}

// MountFiles gives a pod's first container the files of a ConfigMap.
func MountFiles(pod *corev1.Pod, name, to string) {
	mount(pod, corev1.VolumeMount{Name: name, MountPath: to, ReadOnly: true},
		corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}})
}

func mount(pod *corev1.Pod, at corev1.VolumeMount, from corev1.VolumeSource) {
	first := &pod.Spec.Containers[0]
	first.VolumeMounts = append(first.VolumeMounts, at)
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: at.Name, VolumeSource: from})
}

// Environment is K=V words as a container has them.
func Environment(words ...string) (env []corev1.EnvVar) {
	for _, kv := range words {
		name, value, _ := strings.Cut(kv, "=")
		env = append(env, corev1.EnvVar{Name: name, Value: value})
	}
	return env
}
