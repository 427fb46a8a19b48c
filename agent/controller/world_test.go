//go:build !e2e

package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/test/suite/fakeapi"
)

// killEvery is the default distance between two writes at which the controller is killed
// (MUSTER_KILL_EVERY).
const killEvery = 59

// newWorld returns an API server in memory, as seen by an administrator and by the controller. With
// the tag e2e, the API server is a real one.
func newWorld(t *testing.T) (truth, mine client.WithWatch, key client.ObjectKey) {
	t.Helper()
	truth = fakeapi.New(testScheme(t)).WithStatusSubresource(&v1alpha1.LaunchJob{}, &corev1.Pod{}).
		WithIndex(&corev1.Event{}, "involvedObject.kind", func(o client.Object) []string { return []string{o.(*corev1.Event).InvolvedObject.Kind} }).
		WithIndex(&corev1.Event{}, "type", func(o client.Object) []string { return []string{o.(*corev1.Event).Type} }).Build()
	return truth, limited(t, truth), client.ObjectKey{Namespace: "hpc", Name: "pi"}
}

// limited returns a client that has only the rights of install.yaml, and that checks names in a dry
// run.
func limited(t *testing.T, truth client.WithWatch) client.WithWatch {
	rules := installed(t)
	may := func(verb string, o runtime.Object, sub string) error {
		kind, err := truth.GroupVersionKindFor(o)
		if err != nil {
			return err
		}
		kind.Kind = strings.TrimSuffix(kind.Kind, "List")
		resource, _ := meta.UnsafeGuessKindToResource(kind)
		for _, r := range rules {
			if slices.Contains(r.APIGroups, kind.Group) && slices.Contains(r.Resources, resource.Resource+sub) && slices.Contains(r.Verbs, verb) {
				return nil
			}
		}
		return apierrors.NewForbidden(resource.GroupResource(), "", fmt.Errorf("the controller may not %s %s%s", verb, resource.Resource, sub))
	}
	return interceptor.NewClient(truth, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			return cmp.Or(may("get", o, ""), c.Get(ctx, key, o, opts...))
		},
		List: func(ctx context.Context, c client.WithWatch, o client.ObjectList, opts ...client.ListOption) error {
			return cmp.Or(may("list", o, ""), c.List(ctx, o, opts...))
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if err := may("create", o, ""); err != nil {
				return err
			}
			if slices.Contains(opts, client.CreateOption(client.DryRunAll)) {
				if err := c.Get(ctx, client.ObjectKeyFromObject(o), o.DeepCopyObject().(client.Object)); err == nil {
					return apierrors.NewAlreadyExists(schema.GroupResource{}, o.GetName())
				}
			}
			return c.Create(ctx, o, opts...)
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return cmp.Or(may("update", o, ""), c.Update(ctx, o, opts...))
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return cmp.Or(may("delete", o, ""), c.Delete(ctx, o, opts...))
		},
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			return c.Apply(ctx, o, opts...)
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			return cmp.Or(may("update", o, "/"+sub), c.SubResource(sub).Update(ctx, o, opts...))
		},
	})
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
