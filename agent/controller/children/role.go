package children

import (
	"cmp"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// ByNames is the discovery mode of a launcher that may read only its own pods.
const ByNames = "names"

// Role lets the launcher find its pods and start the agent in its own workers. A Role cannot tell
// which job a pod belongs to, so own must hold only names of pods that the job controls. launcher
// means that the launcher's pod exists too.
func Role(job *v1alpha1.LaunchJob, own []string, launcher bool) *rbacv1.Role {
	own = slices.Compact(slices.Sorted(slices.Values(own)))
	rules := []rbacv1.PolicyRule{}
	add := func(resource string, names []string, verbs ...string) {
		rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{resource}, Verbs: verbs, ResourceNames: names})
	}
	readable := own
	if launcher {
		readable = append([]string{Account(job)}, own...)
	}
	if job.Spec.Discovery != ByNames {
		add("pods", nil, "list", "watch")
		add("events", nil, "list") // to learn why a node cannot prepare a worker
	} else if len(readable) > 0 { // a rule without names would cover all pods
		add("pods", readable, "get")
	}
	if len(own) > 0 {
		add("pods/exec", own, "get", "create")
	}
	return roleOf(job, rules)
}

// NoRights returns the launcher's Role without rules, which grants nothing.
func NoRights(job *v1alpha1.LaunchJob) *rbacv1.Role { return roleOf(job, []rbacv1.PolicyRule{}) }

// roleOf returns the launcher's Role with these rules.
func roleOf(job *v1alpha1.LaunchJob, rules []rbacv1.PolicyRule) *rbacv1.Role {
	return &rbacv1.Role{TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"}, ObjectMeta: Meta(job, Account(job)), Rules: rules}
}

// Binding gives the Role to the launcher's account: the one that the template names, or ours.
func Binding(job *v1alpha1.LaunchJob) *rbacv1.RoleBinding {
	account := cmp.Or(AccountOf(&job.Spec.Launcher.Template.Spec), Account(job))
	return &rbacv1.RoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
		ObjectMeta: Meta(job, Account(job)),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: Account(job)},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account, Namespace: job.Namespace}},
	}
}
