//go:build e2e

package controller

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// newWorld is a namespace of the cluster of KUBECONFIG, which has the CRD. Its
// pods are for a scheduler that does not exist.
func newWorld(t *testing.T) (client.WithWatch, client.ObjectKey) {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme, rbacv1.AddToScheme} {
		require.NoError(t, add(s))
	}
	cfg, err := config.GetConfig()
	require.NoError(t, err)
	cfg.QPS = -1
	c, err := client.NewWithWatch(cfg, client.Options{Scheme: s})
	require.NoError(t, err)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "muster-crash-"}}
	require.NoError(t, c.Create(t.Context(), namespace))
	remove := func() { require.NoError(t, c.Delete(context.WithoutCancel(t.Context()), namespace)) }
	t.Cleanup(remove)
	return c, client.ObjectKey{Namespace: namespace.Name, Name: "pi"}
}
