package progress

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/exec/names"
)

const (
	volume  = "muster-progress"
	mounted = "/var/run/secrets/muster.dev/progress"
	caFile  = "ca.crt"
	token   = "token"
	// tokenSeconds is how long a token is valid. The kubelet renews it in time.
	tokenSeconds = 3600
)

// Offer is what pods need to send reports. A nil Offer gives them nothing.
type Offer struct {
	address string // https://HOST:PORT
	ca      string // PEM
}

// Give adds what a container of a pod needs to report about a job: the variables of Kubeflow Trainer,
// a token for this server only, and the server's certificate. The certificate is in an annotation, so
// the pod needs no other object. A pod that reports to another server is left alone.
func (o *Offer) Give(pod *corev1.Pod, own *corev1.Container, job string) {
	has := func(v corev1.EnvVar) bool { return v.Name == names.EnvTrainerURL }
	if o == nil || slices.ContainsFunc(own.Env, has) || slices.ContainsFunc(own.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == mounted }) {
		return
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[names.AnnotationProgressCA] = o.ca
	own.Env = append(own.Env,
		corev1.EnvVar{Name: names.EnvTrainerURL, Value: o.address + path(pod.Namespace, job)},
		corev1.EnvVar{Name: names.EnvTrainerCA, Value: mounted + "/" + caFile},
		corev1.EnvVar{Name: names.EnvTrainerToken, Value: mounted + "/" + token})
	own.VolumeMounts = append(own.VolumeMounts, corev1.VolumeMount{Name: volume, MountPath: mounted, ReadOnly: true})
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{
		Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Audience: Audience, ExpirationSeconds: new(int64(tokenSeconds)), Path: token}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
				Path: caFile, FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.annotations['" + names.AnnotationProgressCA + "']"},
			}}}},
		}},
	}})
}

// path returns the path of the reports about a job.
func path(namespace, job string) string {
	return "/apis/muster.dev/v1alpha1/namespaces/" + namespace + "/launchjobs/" + job + "/status"
}
