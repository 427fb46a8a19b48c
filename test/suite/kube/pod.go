package kube

import (
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
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

// Python is a pod that runs a script as a service account: Debian's Python of
// images/frameworks, with the environment of venv, a directory that the nodes see, and
// the files of a ConfigMap at /files.
func Python(name, account, venv, files string, args ...string) corev1.Pod {
	pod := corev1.Pod{TypeMeta: Kind("v1", "Pod"), ObjectMeta: Named(name), Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, ServiceAccountName: account,
		Containers: []corev1.Container{{
			Name: "python", Image: "localhost/muster-frameworks:dev", ImagePullPolicy: corev1.PullNever,
			Command: append([]string{"python3"}, args...),
			Env:     Environment("PYTHONPATH=/venv/lib/python3.11/site-packages", "PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1"),
		}},
	}}
	Mount(&pod, "venv", venv, "/venv", true)
	mount(&pod, corev1.VolumeMount{Name: "files", MountPath: "/files", ReadOnly: true},
		corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: files}}})
	return pod
}

// Files is a ConfigMap of files of this machine, by the names that they get.
func Files(name string, paths map[string]string) (corev1.ConfigMap, error) {
	files := corev1.ConfigMap{TypeMeta: Kind("v1", "ConfigMap"), ObjectMeta: Named(name), Data: map[string]string{}}
	for file, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return files, err
		}
		files.Data[file] = string(text)
	}
	return files, nil
}

// Kind is an object's kind and its API's version.
func Kind(version, name string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: version, Kind: name}
}

// Named is an object's name alone.
func Named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }

// Space is a namespace, with a label of its maker's. Pods in it may mount the
// node's files, which is beyond "restricted" and "baseline".
func Space(name, owner string) any {
	return corev1.Namespace{TypeMeta: Kind("v1", "Namespace"), ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		owner: "row", "pod-security.kubernetes.io/enforce": "privileged"}}}
}

// Access is all that a launcher may do: look at pods, and start the agent in its
// workers.
func Access(launcher string, workers []string) []any {
	exec := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods/exec"}, Verbs: []string{"get", "create"}, ResourceNames: workers}
	look := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list", "watch"}}
	return Bound(launcher, look, exec)
}

// Bound is a service account with rights, of one name.
func Bound(name string, rules ...rbacv1.PolicyRule) []any {
	const group = "rbac.authorization.k8s.io"
	return []any{
		corev1.ServiceAccount{TypeMeta: Kind("v1", "ServiceAccount"), ObjectMeta: Named(name)},
		rbacv1.Role{TypeMeta: Kind(group+"/v1", "Role"), ObjectMeta: Named(name), Rules: rules},
		rbacv1.RoleBinding{TypeMeta: Kind(group+"/v1", "RoleBinding"), ObjectMeta: Named(name),
			RoleRef:  rbacv1.RoleRef{APIGroup: group, Kind: "Role", Name: name},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: name}}},
	}
}
