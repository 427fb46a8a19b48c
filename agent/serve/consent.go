package serve

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/exec/names"
)

// namespaceKind is read by its labels alone.
var namespaceKind = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}

// consents tells whether an object is to be served: it says so, or its namespace
// does and it does not say otherwise, and managedBy names nobody else.
func (r *Reconciler) consents(ctx context.Context, o *unstructured.Unstructured) (bool, error) {
	if who := managedBy(o); who != "" && who != names.Controller {
		return false, nil
	}
	switch o.GetLabels()[names.LabelServe] {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	if r.Confined {
		return false, nil // a controller of some namespaces may not look at any
	}
	ns := &metav1.PartialObjectMetadata{}
	ns.SetGroupVersionKind(namespaceKind)
	if err := r.Client.Get(ctx, types.NamespacedName{Name: o.GetNamespace()}, ns); err != nil {
		return false, fmt.Errorf("read namespace %s: %w", o.GetNamespace(), err)
	}
	return ns.Labels[names.LabelServe] == "true", nil
}
