//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/musterhq/muster/test/suite/await"
)

const (
	kueueGroup = "kueue.x-k8s.io"
	kueueAPI   = kueueGroup + "/v1beta2"
)

// apply creates objects, or changes them, with one kubectl.
func (s *site) apply(ctx context.Context, namespace string, objects ...any) error {
	var text strings.Builder
	for _, object := range objects {
		one, err := json.Marshal(object)
		if err != nil {
			return err
		}
		text.Write(one)
		text.WriteString("\n")
	}
	return await.Until(ctx, 200*time.Millisecond, "Kueue's webhooks", func() (bool, error) { // which a new plane does not have yet
		if err := s.Died(); err != nil {
			return true, err
		}
		_, err := s.Kubectl(ctx, namespace, []byte(text.String()), "apply", "--validate=false", "-f", "-")
		return err == nil || !strings.Contains(err.Error(), "failed calling webhook"), err
	})
}

// object returns an object of Kueue.
func object(kind, name string, spec map[string]any) map[string]any {
	return map[string]any{"apiVersion": kueueAPI, "kind": kind, "metadata": map[string]any{"name": name}, "spec": spec}
}

// flavor returns a ResourceFlavor.
func flavor(name string, labels map[string]any, topology string) any {
	spec := map[string]any{}
	if labels != nil {
		spec["nodeLabels"] = labels
	}
	if topology != "" {
		spec["topologyName"] = topology
	}
	return object("ResourceFlavor", name, spec)
}

// queue returns a ClusterQueue with GPUs, and as much of the rest as anybody wants, and the LocalQueue of the same name
// in the row's namespace.
func queue(name, flavor string, gpus int, change ...func(spec map[string]any)) []any {
	quota := func(resource, amount string) any { return map[string]any{"name": resource, "nominalQuota": amount} }
	spec := map[string]any{
		"namespaceSelector": map[string]any{},
		"preemption":        map[string]any{"withinClusterQueue": "LowerPriority"},
		"resourceGroups": []any{map[string]any{"coveredResources": []any{"cpu", "memory", gpu}, "flavors": []any{map[string]any{
			"name": flavor, "resources": []any{quota("cpu", "1000"), quota("memory", "1Ti"), quota(gpu, fmt.Sprint(gpus))}}}}},
	}
	for _, f := range change {
		f(spec)
	}
	return []any{object("ClusterQueue", name, spec), object("LocalQueue", name, map[string]any{"clusterQueue": name})}
}

// kindOf returns an empty object of a kind of Kueue.
func kindOf(kind string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.FromAPIVersionAndKind(kueueAPI, kind))
	return u
}

// condition is a condition of a Workload.
type condition struct{ Type, Status, Reason, Message string }

// conditionOf returns a condition of a Workload; the zero value if it has none.
func conditionOf(u *unstructured.Unstructured, kind string) (found condition) {
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range list {
		m, _ := c.(map[string]any)
		text := func(key string) string { s, _ := m[key].(string); return s }
		if text("type") == kind {
			return condition{kind, text("status"), text("reason"), text("message")}
		}
	}
	return found
}

func (c condition) is() bool { return c.Status == "True" }
