//go:build e2e

package controller

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// newWorld is a namespace of the cluster of KUBECONFIG, which has the CRD. Its
// pods are for a scheduler that does not exist.
func newWorld(t *testing.T) (client.WithWatch, client.ObjectKey) {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, appsv1.AddToScheme, corev1.AddToScheme, rbacv1.AddToScheme} {
		require.NoError(t, add(s))
	}
	cfg, err := config.GetConfig()
	require.NoError(t, err)
	cfg.QPS = -1
	web, err := rest.HTTPClientFor(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(web.Transport) })
	c, err := client.NewWithWatch(cfg, client.Options{Scheme: s, HTTPClient: web})
	require.NoError(t, err)
	alone(t, c)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "muster-crash-"}}
	require.NoError(t, c.Create(t.Context(), namespace))
	remove := func() { require.NoError(t, c.Delete(context.WithoutCancel(t.Context()), namespace)) }
	t.Cleanup(remove)
	return c, client.ObjectKey{Namespace: namespace.Name, Name: "pi"}
}

// alone sends the controller that may be installed away while the test lasts: it would
// do what the one that was killed has left.
func alone(t *testing.T, c client.Client) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	deployment := &appsv1.Deployment{}
	err := c.Get(ctx, client.ObjectKey{Namespace: "muster-system", Name: "muster-controller"}, deployment)
	if apierrors.IsNotFound(err) || err == nil && *deployment.Spec.Replicas == 0 {
		return
	}
	require.NoError(t, err)
	scale := func(n int32) {
		require.NoError(t, c.Patch(ctx, deployment, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n))))
	}
	had := *deployment.Spec.Replicas
	scale(0)
	t.Cleanup(func() { scale(had) })
	require.Eventually(t, func() bool {
		var pods corev1.PodList
		require.NoError(t, c.List(ctx, &pods, client.InNamespace("muster-system"), client.MatchingLabels(deployment.Spec.Selector.MatchLabels)))
		return len(pods.Items) == 0
	}, time.Minute, 100*time.Millisecond)
}
