package kube

import (
	"os"

	corev1 "k8s.io/api/core/v1"
)

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
