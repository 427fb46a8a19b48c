//go:build e2e

package controller

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/yaml"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// policy installs the admission policy of install.yaml in one namespace.
func policy(t *testing.T, c client.Client, namespace string) {
	t.Helper()
	text, err := os.ReadFile("../../images/install.yaml")
	require.NoError(t, err)
	n := 0
	for doc := range strings.SplitSeq(string(text), "\n---\n") {
		if !strings.Contains(doc, "\nkind: ValidatingAdmissionPolicy") {
			continue
		}
		n++
		u := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal([]byte(doc), u))
		u.SetName(namespace)
		if u.GetKind() == "ValidatingAdmissionPolicyBinding" {
			require.NoError(t, unstructured.SetNestedField(u.Object, namespace, "spec", "policyName"))
			require.NoError(t, unstructured.SetNestedField(u.Object, namespace, "spec", "matchResources", "namespaceSelector", "matchLabels", "kubernetes.io/metadata.name"))
		}
		require.NoError(t, c.Create(t.Context(), u))
		t.Cleanup(func() { require.NoError(t, c.Delete(context.WithoutCancel(t.Context()), u)) })
	}
	require.Equal(t, 2, n)
}

// TestAccountsOfTheTemplates checks that a user who may create LaunchJobs but no pods cannot name
// an account that they may not use. A job with an account can be deleted in the foreground.
func TestAccountsOfTheTemplates(t *testing.T) {
	c, _, key := newWorld(t)
	policy(t, c, key.Namespace)
	cfg, err := config.GetConfig()
	require.NoError(t, err)
	jobs := rbacv1.PolicyRule{APIGroups: []string{"muster.dev"}, Resources: []string{"launchjobs"}, Verbs: []string{"create", "update", "get", "delete"}}
	pods := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"create"}}
	use := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, Verbs: []string{"use"}, ResourceNames: []string{"vault"}}
	user := func(name string, rules ...rbacv1.PolicyRule) client.Client {
		role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: name}, Rules: rules}
		require.NoError(t, c.Create(t.Context(), role))
		require.NoError(t, c.Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: name},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}}}))
		as := *cfg
		as.Impersonate.UserName = name
		return clientOf(t, &as, c.Scheme())
	}
	jobsOnly, podsToo, mayUse := user("jobs-only", jobs), user("pods-too", jobs, pods), user("may-use", jobs, use)
	launch := func(by client.Client, change func(*v1alpha1.LaunchJob)) error {
		job := kindsOfJob[1].job(key)
		job.Name, job.GenerateName = "", "x-"
		change(job)
		return by.Create(t.Context(), job, client.DryRunAll)
	}
	places := map[string]func(*v1alpha1.LaunchJob){
		"launcher":                          func(j *v1alpha1.LaunchJob) { j.Spec.Launcher.Template.Spec.ServiceAccountName = "vault" },
		"launcher, by the deprecated field": func(j *v1alpha1.LaunchJob) { j.Spec.Launcher.Template.Spec.DeprecatedServiceAccount = "vault" },
		"role":                              func(j *v1alpha1.LaunchJob) { j.Spec.Roles[0].Template.Spec.ServiceAccountName = "vault" },
		"member": func(j *v1alpha1.LaunchJob) {
			j.Spec.Launcher, j.Spec.Roles[0].Template.Spec.ServiceAccountName = nil, "vault"
		},
	}
	require.Eventually(t, func() bool { // the API server needs a moment to load the policy
		err := launch(jobsOnly, places["launcher"])
		return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "a template names a service account (vault), and jobs-only may neither create pods in "+key.Namespace)
	}, 30*time.Second, 200*time.Millisecond)
	for name, change := range places {
		t.Run(name, func(t *testing.T) {
			require.True(t, apierrors.IsForbidden(launch(jobsOnly, change)))
			require.NoError(t, launch(podsToo, change))
			require.NoError(t, launch(mayUse, change))
		})
	}
	require.NoError(t, launch(jobsOnly, func(*v1alpha1.LaunchJob) {}), "a template without an account is allowed")
	other := func(j *v1alpha1.LaunchJob) { j.Spec.Roles[0].Template.Spec.ServiceAccountName = "another" }
	require.True(t, apierrors.IsForbidden(launch(mayUse, other)))

	job := kindsOfJob[1].job(key)
	job.Spec.RunPolicy.Suspend = true
	require.NoError(t, jobsOnly.Create(t.Context(), job))
	job.Spec.Roles[0].Template = corev1.PodTemplateSpec{Spec: *job.Spec.Roles[0].Template.Spec.DeepCopy()}
	places["role"](job)
	require.True(t, apierrors.IsForbidden(jobsOnly.Update(t.Context(), job)), "an update that adds an account is refused too")

	job = kindsOfJob[1].job(key)
	job.Name, job.Spec.RunPolicy.Suspend = "vaulted", true
	places["role"](job)
	require.NoError(t, podsToo.Create(t.Context(), job))
	require.NoError(t, podsToo.Delete(t.Context(), job, client.PropagationPolicy(metav1.DeletePropagationForeground)))
	require.Eventually(t, func() bool { // the garbage collector removes its finalizer, and may use no account
		return apierrors.IsNotFound(podsToo.Get(t.Context(), client.ObjectKeyFromObject(job), job))
	}, 2*time.Minute, 200*time.Millisecond)
}
