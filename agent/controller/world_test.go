//go:build !e2e

package controller

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// newWorld is an API server in memory; with the tag e2e it is a real one.
func newWorld(t *testing.T) (client.WithWatch, client.ObjectKey) {
	t.Helper()
	return fake.NewClientBuilder().WithScheme(testScheme(t)).WithStatusSubresource(&v1alpha1.LaunchJob{}, &corev1.Pod{}).Build(),
		client.ObjectKey{Namespace: "hpc", Name: "pi"}
}

func testScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme, rbacv1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}
