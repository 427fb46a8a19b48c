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

// killEvery is the default distance between two writes at which the controller is killed
// (MUSTER_KILL_EVERY). It is large because each life takes seconds here.
const killEvery = 19

// newWorld returns a namespace of the cluster in KUBECONFIG, which must have the CRD. It returns
// one client with the rights of an administrator, and one with exactly the rights of the controller
// in install.yaml. The pods name a scheduler that does not exist.
func newWorld(t *testing.T) (truth, mine client.WithWatch, key client.ObjectKey) {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, appsv1.AddToScheme, corev1.AddToScheme, rbacv1.AddToScheme} {
		require.NoError(t, add(s))
	}
	cfg, err := config.GetConfig()
	require.NoError(t, err)
	cfg.QPS = -1
	c := clientOf(t, cfg, s)
	alone(t, c)
	ctx := context.WithoutCancel(t.Context())
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "muster-crash-"}}
	require.NoError(t, c.Create(ctx, namespace))
	name := namespace.Name
	t.Cleanup(func() { require.NoError(t, c.Delete(ctx, namespace)) })
	// Pods need the default account, and a bare API server has no controller that creates it.
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "default"}}
	require.NoError(t, client.IgnoreAlreadyExists(c.Create(ctx, account)))
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: installed(t)}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: role.ObjectMeta,
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: name, Name: "muster-controller"}}}
	for _, o := range []client.Object{role, binding} {
		require.NoError(t, c.Create(ctx, o))
		t.Cleanup(func() { require.NoError(t, c.Delete(ctx, o)) })
	}
	cfg = rest.CopyConfig(cfg)
	cfg.Impersonate.UserName = "system:serviceaccount:" + name + ":muster-controller"
	mine = clientOf(t, cfg, s)
	require.Eventually(t, func() bool { // the authorizer needs a moment to load the binding
		return mine.List(ctx, &v1alpha1.LaunchJobList{}, client.InNamespace(name)) == nil
	}, 10*time.Second, 20*time.Millisecond)
	return c, mine, client.ObjectKey{Namespace: name, Name: "pi"}
}

func clientOf(t *testing.T, cfg *rest.Config, s *runtime.Scheme) client.WithWatch {
	t.Helper()
	web, err := rest.HTTPClientFor(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(web.Transport) })
	c, err := client.NewWithWatch(cfg, client.Options{Scheme: s, HTTPClient: web})
	require.NoError(t, err)
	return c
}

// alone scales down an installed controller while the test runs, because it would finish the work
// of the killed controller.
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
