package controller

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/names"
)

// byNames is the discovery of a launcher that may read its own pods only.
const byNames = "names"

// account is the name of the launcher's ServiceAccount, Role and RoleBinding.
func (b builder) account() string { return b.job.Name + "-" + names.RoleLauncher }

// children are all but the pods, a token, which is random, and the gang's object: a headless Service, and
// what lets a launcher reach its workers. taken are names that replacements had to take.
func (b builder) children(taken []string) []client.Object {
	all := []client.Object{b.service(b.job.Name, names.LabelJob)}
	if b.job.Spec.Launcher == nil {
		for i := 0; b.job.Spec.Compat != "" && i < len(b.slots); i++ {
			all = append(all, b.service(b.slots[i].name, names.LabelPod))
		}
		return all
	}
	account := accountOf(&b.job.Spec.Launcher.Template.Spec)
	if account == "" {
		account = b.account()
		all = append(all, &corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: b.owned(account)})
	}
	return append(all, b.role(taken), b.binding(account))
}

// service makes a headless Service of the pods whose label has its name: that by which
// they know each other, from the moment that they are there, and those that Kubeflow's
// operator had, one for each pod.
func (b builder) service(name, label string) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: b.owned(name),
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true,
			Selector: map[string]string{label: name},
		},
	}
}

// role lets the launcher look at pods and start the agent in its own workers,
// which need not be there yet.
func (b builder) role(taken []string) *rbacv1.Role {
	pods := slices.Compact(slices.Sorted(slices.Values(append(b.workerNames(), taken...))))
	look := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list", "watch"}}
	if b.job.Spec.Discovery == byNames {
		look.Verbs, look.ResourceNames = []string{"get"}, append([]string{b.account()}, pods...)
	}
	rules := []rbacv1.PolicyRule{look}
	if len(pods) > 0 { // a rule without names is one for all pods
		rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods/exec"}, Verbs: []string{"get", "create"}, ResourceNames: pods})
	}
	return &rbacv1.Role{TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"}, ObjectMeta: b.owned(b.account()), Rules: rules}
}

// binding gives the Role to the launcher's account, the user's or ours.
func (b builder) binding(account string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
		ObjectMeta: b.owned(b.account()),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: b.account()},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account, Namespace: b.job.Namespace}},
	}
}

// workerNames are those of the workers' pods while none was lost.
func (b builder) workerNames() (list []string) {
	for _, s := range b.slots {
		if !s.launcher() {
			list = append(list, s.name)
		}
	}
	return list
}
