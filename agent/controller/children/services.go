package children

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/exec/names"
)

// Account returns the name of the launcher's ServiceAccount, Role and RoleBinding.
func Account(job *v1alpha1.LaunchJob) string { return job.Name + "-" + names.RoleLauncher }

// AccountOf reads both spellings of the service account.
func AccountOf(spec *corev1.PodSpec) string {
	return cmp.Or(spec.ServiceAccountName, spec.DeprecatedServiceAccount)
}

// First returns the objects that the pods of these names need before they start: a headless Service, and an
// account for a launcher whose template names none.
func First(job *v1alpha1.LaunchJob, pods []string) []client.Object {
	all := []client.Object{service(job, job.Name, names.LabelJob)}
	if job.Spec.Launcher == nil {
		for i := 0; job.Spec.Compat != "" && i < len(pods); i++ {
			all = append(all, service(job, pods[i], names.LabelPod))
		}
		return all
	}
	if AccountOf(&job.Spec.Launcher.Template.Spec) == "" {
		all = append(all, &corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: Meta(job, Account(job))})
	}
	return all
}

// service returns a headless Service that selects the pods with the given name in the given label.
// The pods use it to find each other as soon as they exist. A Service for each pod is as Kubeflow's
// operator had it.
func service(job *v1alpha1.LaunchJob, name, label string) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: Meta(job, name),
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true,
			Selector: map[string]string{label: name},
		},
	}
}
