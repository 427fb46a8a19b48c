package controller

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/exec/names"
)

// byNames is the discovery mode of a launcher that may read only its own pods.
const byNames = "names"

// account returns the name of the launcher's ServiceAccount, Role and RoleBinding.
func (b builder) account() string { return b.job.Name + "-" + names.RoleLauncher }

// children returns the objects that the pods need before they start: a headless Service, and an
// account for a launcher whose template names none.
func (b builder) children() []client.Object {
	all := []client.Object{b.service(b.job.Name, names.LabelJob)}
	if b.job.Spec.Launcher == nil {
		for i := 0; b.job.Spec.Compat != "" && i < len(b.slots); i++ {
			all = append(all, b.service(b.slots[i].name, names.LabelPod))
		}
		return all
	}
	if accountOf(&b.job.Spec.Launcher.Template.Spec) == "" {
		all = append(all, &corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: b.owned(b.account())})
	}
	return all
}

// service returns a headless Service that selects the pods with the given name in the given label.
// The pods use it to find each other as soon as they exist. A Service for each pod is as Kubeflow's
// operator had it.
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

// role lets the launcher find its pods and start the agent in its own workers. A Role cannot tell
// which job a pod belongs to, so own must hold only names of pods that the job controls. launcher
// means that the launcher's pod exists too.
func (b builder) role(own []string, launcher bool) *rbacv1.Role {
	own = slices.Compact(slices.Sorted(slices.Values(own)))
	rules := []rbacv1.PolicyRule{}
	add := func(resource string, names []string, verbs ...string) {
		rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{resource}, Verbs: verbs, ResourceNames: names})
	}
	readable := own
	if launcher {
		readable = append([]string{b.account()}, own...)
	}
	if b.job.Spec.Discovery != byNames {
		add("pods", nil, "list", "watch")
		add("events", nil, "list") // to learn why a node cannot prepare a worker
	} else if len(readable) > 0 { // a rule without names would cover all pods
		add("pods", readable, "get")
	}
	if len(own) > 0 {
		add("pods/exec", own, "get", "create")
	}
	return b.roleOf(rules)
}

// roleOf returns the launcher's Role with these rules. Without rules it grants nothing.
func (b builder) roleOf(rules []rbacv1.PolicyRule) *rbacv1.Role {
	return &rbacv1.Role{TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"}, ObjectMeta: b.owned(b.account()), Rules: rules}
}

// binding gives the Role to the launcher's account: the one that the template names, or ours.
func (b builder) binding() *rbacv1.RoleBinding {
	account := cmp.Or(accountOf(&b.job.Spec.Launcher.Template.Spec), b.account())
	return &rbacv1.RoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
		ObjectMeta: b.owned(b.account()),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: b.account()},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account, Namespace: b.job.Namespace}},
	}
}

// ownWorkers lists the workers' pods that the job controls.
func ownWorkers(places []place) (list []string) {
	for _, p := range places {
		if p.pod != nil && !p.launcher() {
			list = append(list, p.pod.Name)
		}
	}
	return list
}

// grant creates or updates the Role of the launcher's account. The Role names only the job's own
// pods.
func (r *Reconciler) grant(ctx context.Context, from client.Reader, b builder, own []string, launcher bool) error {
	role := b.role(own, launcher)
	_, err := r.keep(ctx, from, b.job, role)
	if apierrors.IsForbidden(err) { // optional: the controller cannot grant the right to read events if it lacks that right
		role.Rules = slices.DeleteFunc(role.Rules, func(rule rbacv1.PolicyRule) bool { return slices.Contains(rule.Resources, "events") })
		_, err = r.keep(ctx, from, b.job, role)
	}
	if err == nil {
		_, err = r.keep(ctx, from, b.job, b.binding())
	}
	return err
}

// revoke empties the Role of a job that has ended or has no pods, because another user may create
// pods with the names in it.
func (r *Reconciler) revoke(ctx context.Context, b builder) error {
	if b.job.Spec.Launcher == nil {
		return nil
	}
	want, have := b.roleOf([]rbacv1.PolicyRule{}), &rbacv1.Role{}
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(want), have)
	if err != nil || len(have.Rules) == 0 || ours(b.job, want, have) != nil {
		return client.IgnoreNotFound(err)
	}
	_, err = r.keep(ctx, r.Client, b.job, want)
	return err
}

// workerNames returns the original names of the workers' pods, without those of replacements.
func (b builder) workerNames() (list []string) {
	for _, s := range b.slots {
		if !s.launcher() {
			list = append(list, s.name)
		}
	}
	return list
}
