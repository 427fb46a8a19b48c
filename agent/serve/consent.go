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

// namespaceKind is read as metadata only, for its labels.
var namespaceKind = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}

// consents reports whether an object is to be served. The object has the label, or its namespace
// has it and the object does not say otherwise. managedBy must not name another controller.
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
		return false, nil // a controller that is confined to namespaces may not read any
	}
	ns := &metav1.PartialObjectMetadata{}
	ns.SetGroupVersionKind(namespaceKind)
	if err := r.Client.Get(ctx, types.NamespacedName{Name: o.GetNamespace()}, ns); err != nil {
		return false, fmt.Errorf("read namespace %s: %w", o.GetNamespace(), err)
	}
	return ns.Labels[names.LabelServe] == "true", nil
}
