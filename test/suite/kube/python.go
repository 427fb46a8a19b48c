package kube

import (
	"os"

	corev1 "k8s.io/api/core/v1"
)

// Python is a pod that runs a script as a service account: Debian's Python of
// images/frameworks, with the environment of venv, a directory that the nodes see, and
// the files of a ConfigMap at /files.
func Python(name, account, venv, files string, args ...string) corev1.Pod {
	directory := corev1.HostPathDirectory
	return corev1.Pod{TypeMeta: Kind("v1", "Pod"), ObjectMeta: Named(name), Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, ServiceAccountName: account,
		Containers: []corev1.Container{{
			Name: "python", Image: "localhost/muster-frameworks:dev", ImagePullPolicy: corev1.PullNever,
			Command: append([]string{"python3"}, args...),
			Env: []corev1.EnvVar{{Name: "PYTHONPATH", Value: "/venv/lib/python3.11/site-packages"}, {Name: "PYTHONDONTWRITEBYTECODE", Value: "1"},
				{Name: "PYTHONUNBUFFERED", Value: "1"}},
			VolumeMounts: []corev1.VolumeMount{{Name: "venv", MountPath: "/venv", ReadOnly: true}, {Name: "files", MountPath: "/files", ReadOnly: true}},
		}},
		Volumes: []corev1.Volume{
			{Name: "venv", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: venv, Type: &directory}}},
			{Name: "files", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: files}}}},
		},
	}}
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
