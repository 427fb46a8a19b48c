//go:build linux

package main

import (
	"context"
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/test/suite/kube"
)

// sweep takes away what a run that was killed has left.
func sweep(ctx context.Context, c client.Client) error {
	if err := errors.Join(unhook(ctx), release(ctx, c)); err != nil {
		return err
	}
	if _, err := kube.Kubectl(ctx, "default", nil, "delete", "namespace", "-l", owner, "--timeout=90s"); err != nil {
		return err
	}
	for _, m := range modules() {
		if err := undefine(ctx, m); err != nil {
			return err
		}
	}
	return kube.GPUs(ctx, gpuNode, 0)
}

// release takes off the finalizers that nobody is left to take off.
func release(ctx context.Context, c client.Client) error {
	for _, kind := range []schema.GroupVersionKind{
		{Version: "v1", Kind: "Pod"},
		{Group: "kueue.x-k8s.io", Version: "v1beta1", Kind: "Workload"}, {Group: "kueue.x-k8s.io", Version: "v1beta1", Kind: "ClusterQueue"},
		{Group: "kueue.x-k8s.io", Version: "v1beta1", Kind: "ResourceFlavor"},
	} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		if err := c.List(ctx, list); err != nil {
			if meta.IsNoMatchError(err) {
				continue
			}
			return err
		}
		for _, o := range list.Items {
			if kind.Kind == "Pod" && !strings.HasPrefix(o.GetNamespace(), "gang-") || len(o.GetFinalizers()) == 0 {
				continue
			}
			if err := c.Patch(ctx, &o, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); client.IgnoreNotFound(err) != nil {
				return err
			}
		}
	}
	return nil
}
