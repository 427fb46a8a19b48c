package kube

import (
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Restricted returns a pod of a job with one container that satisfies Pod Security's level "restricted". A launcher
// has the service account with its name. Other roles have no token.
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

// Mount mounts a directory of this machine, which the nodes see too, in a pod's first container.
func Mount(pod *corev1.Pod, name, from, to string, readOnly bool) {
	directory := corev1.HostPathDirectory
	mount(pod, corev1.VolumeMount{Name: name, MountPath: to, ReadOnly: readOnly},
		corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: from, Type: &directory}})
}

// MountFiles mounts the files of a ConfigMap in a pod's first container.
func MountFiles(pod *corev1.Pod, name, to string) {
	mount(pod, corev1.VolumeMount{Name: name, MountPath: to, ReadOnly: true},
		corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}})
}

func mount(pod *corev1.Pod, at corev1.VolumeMount, from corev1.VolumeSource) {
	first := &pod.Spec.Containers[0]
	first.VolumeMounts = append(first.VolumeMounts, at)
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: at.Name, VolumeSource: from})
}

// Environment converts words of the form K=V to a container's variables.
func Environment(words ...string) (env []corev1.EnvVar) {
	for _, kv := range words {
		name, value, _ := strings.Cut(kv, "=")
		env = append(env, corev1.EnvVar{Name: name, Value: value})
	}
	return env
}

// Python returns a pod that runs a script as a service account. It uses Debian's Python of images/frameworks, with
// the environment venv, a directory that the nodes see, and the files of a ConfigMap at /files.
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

// Files returns a ConfigMap with files of this machine. paths has the path for each file name.
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

// Kind returns the metadata of an object's kind and API version.
func Kind(version, name string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: version, Kind: name}
}

// Named returns metadata with only a name.
func Named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }

// Space returns a namespace with a label of its owner. Its pods may mount the node's files, which "restricted" and
// "baseline" forbid.
func Space(name, owner string) any {
	return corev1.Namespace{TypeMeta: Kind("v1", "Namespace"), ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		owner: "row", "pod-security.kubernetes.io/enforce": "privileged"}}}
}

// Access returns the rights that a launcher needs: to list and watch pods, and to start the agent in its workers.
func Access(launcher string, workers []string) []any {
	exec := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods/exec"}, Verbs: []string{"get", "create"}, ResourceNames: workers}
	look := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list", "watch"}}
	return Bound(launcher, look, exec)
}

// Bound returns a service account, a role and its binding, all with the same name.
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
