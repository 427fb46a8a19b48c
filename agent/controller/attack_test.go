package controller

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/controller/children"
	"github.com/musterhq/muster/exec/names"
)

// vault returns a job whose worker would have the name of another user's pod.
func (s *story) vault() *v1alpha1.LaunchJob {
	job := kindsOfJob[1].job(client.ObjectKey{Namespace: s.key.Namespace, Name: "vault"})
	job.Spec.Roles[0].Name, job.Spec.Workers, job.Spec.Roles[0].Replicas = "server", nil, new(int32(2))
	s.key.Name = job.Name
	return job
}

// theirs creates another user's pod.
func (s *story) theirs(name string) *corev1.Pod {
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Namespace: s.key.Namespace, Name: name}, Spec: corev1.PodSpec{SchedulerName: "nobody", Containers: []corev1.Container{{Name: "vault", Image: "i"}}}}
	require.NoError(s.t, s.truth.Create(s.t.Context(), pod))
	return pod
}

// named lists the pods that the launcher's Role names.
func (s *story) named() (list []string) {
	role := &rbacv1.Role{}
	err := s.truth.Get(s.t.Context(), client.ObjectKey{Namespace: s.key.Namespace, Name: s.key.Name + "-launcher"}, role)
	if !apierrors.IsNotFound(err) {
		require.NoError(s.t, err)
	}
	for _, rule := range role.Rules {
		list = append(list, rule.ResourceNames...)
		require.False(s.t, rule.Resources[0] == "pods/exec" && len(rule.ResourceNames) == 0, "the Role allows exec in all pods")
	}
	return list
}

// TestTheRoleNamesNobodyElsesPod attacks another user's pod with a job that is called vault and has
// a role called server.
func TestTheRoleNamesNobodyElsesPod(t *testing.T) {
	for name, discovery := range map[string]string{"label": "", "names": children.ByNames} {
		t.Run("the pod existed before, "+name, func(t *testing.T) {
			s := aStory(t, 0, false)
			job := s.vault()
			job.Spec.Discovery = discovery
			s.theirs("vault-server-0")
			require.NoError(t, s.truth.Create(t.Context(), job))
			s.settle()
			require.NotContains(t, s.named(), "vault-server-0")
			require.Equal(t, reasonTaken, s.job().Status.Reason)
		})
		t.Run("the pod takes the name of a deleted worker, "+name, func(t *testing.T) {
			s := aStory(t, 0, false)
			job := s.vault()
			job.Spec.Discovery = discovery
			require.NoError(t, s.truth.Create(t.Context(), job))
			s.settle()
			s.starts()
			s.settle()
			require.Subset(t, s.named(), []string{"vault-server-0", "vault-server-1"})
			if discovery == children.ByNames {
				require.Contains(t, s.named(), "vault-launcher")
			}
			mine := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.key.Namespace, Name: "vault-server-0"}}
			require.NoError(t, s.truth.Delete(t.Context(), mine, client.GracePeriodSeconds(0)))
			s.theirs("vault-server-0")
			s.settle()
			require.NotContains(t, s.named(), "vault-server-0")
			require.Contains(t, s.named(), "vault-server-1")
		})
	}
}

// TestTheRoleGoesWithThePods checks that the launcher's Role allows nothing after the job has ended
// or was suspended.
func TestTheRoleGoesWithThePods(t *testing.T) {
	for name, end := range map[string]func(*story){
		"succeeded": func(s *story) { s.kubelet(endsWith(0, s.clock.Now()), "vault-launcher") },
		"failed":    func(s *story) { s.kubelet(endsWith(names.ExitUsage, s.clock.Now()), "vault-launcher") },
		"suspended": func(s *story) { s.suspend(true) },
	} {
		t.Run(name, func(t *testing.T) {
			s := aStory(t, 0, false)
			require.NoError(t, s.truth.Create(t.Context(), s.vault()))
			s.settle()
			s.starts()
			s.settle()
			require.NotEmpty(t, s.named())
			end(s)
			s.settle()
			role := &rbacv1.Role{}
			require.NoError(t, s.truth.Get(t.Context(), client.ObjectKey{Namespace: s.key.Namespace, Name: "vault-launcher"}, role))
			require.Empty(t, role.Rules)
		})
	}
}

// TestNothingOfSomebodyElse checks that another owner's object with the name of a child is neither
// used nor changed.
func TestNothingOfSomebodyElse(t *testing.T) {
	for _, theirs := range []client.Object{
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "vault"}, Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Selector: map[string]string{"app": "vault"}}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "vault-launcher"}},
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "vault-launcher"}},
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "vault-launcher"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "theirs"}},
	} {
		kind := reflect.TypeOf(theirs).Elem().Name()
		t.Run(kind, func(t *testing.T) {
			s := aStory(t, 0, false)
			job := s.vault()
			theirs.SetNamespace(s.key.Namespace)
			require.NoError(t, s.truth.Create(t.Context(), theirs))
			require.NoError(t, s.truth.Create(t.Context(), job))
			s.settle()
			require.Equal(t, reasonTaken, s.job().Status.Reason)
			require.Contains(t, s.job().Status.Message, kind)
			version := theirs.GetResourceVersion()
			require.NoError(t, s.truth.Get(t.Context(), client.ObjectKeyFromObject(theirs), theirs))
			require.Equal(t, version, theirs.GetResourceVersion(), "the other owner's object was changed")
		})
	}
}
