package kube

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
