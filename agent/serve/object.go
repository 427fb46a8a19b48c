package serve

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/musterhq/muster/exec/names"
)

// replica is one of an object's replica specs.
type replica struct {
	name    string // as the operator writes it in the status
	count   int64
	restart string // the restart policy
}

// role returns the role in the LaunchJob.
func (r replica) role() string { return strings.ToLower(r.name) }

// replicas returns the replica specs of the object, in the operator's order. As with the operator,
// upper and lower case of their keys do not matter.
func (k kind) replicas(o *unstructured.Unstructured) (list []replica) {
	specs, _, _ := unstructured.NestedMap(o.Object, "spec", k.specs)
	for key, value := range specs {
		spec, _ := value.(map[string]any)
		r := replica{name: key, count: 1}
		for _, name := range k.types {
			if strings.EqualFold(name, key) {
				r.name = name
			}
		}
		if k.name == "MPIJob" && r.name == worker {
			r.count = 0
		}
		if n, ok := spec["replicas"].(int64); ok {
			r.count = n
		}
		r.restart, _ = spec["restartPolicy"].(string)
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b replica) int {
		if a, b := slices.Index(k.types, a.name), slices.Index(k.types, b.name); a != b {
			return a - b
		}
		return strings.Compare(a.name, b.name)
	})
	return list
}

// lead returns the type that decides whether the job runs.
func (k kind) lead(list []replica) string {
	for _, name := range k.leads {
		if slices.ContainsFunc(list, func(r replica) bool { return r.name == name }) {
			return name
		}
	}
	return ""
}

func suspended(o *unstructured.Unstructured) bool {
	yes, _, _ := unstructured.NestedBool(o.Object, "spec", "runPolicy", "suspend")
	return yes
}

// managedBy returns the controller that the object names, or "".
func managedBy(o *unstructured.Unstructured) string {
	who, _, _ := unstructured.NestedString(o.Object, "spec", "runPolicy", "managedBy")
	return who
}

// ttl returns after how many seconds a finished object is deleted, or only its LaunchJob. MultiKueue itself deletes the
// objects that it has created, after it has copied their ends to another cluster.
func ttl(o *unstructured.Unstructured) (seconds int64, ok bool) {
	if o.GetLabels()[names.LabelKueueOrigin] != "" {
		return 0, false
	}
	seconds, ok, _ = unstructured.NestedInt64(o.Object, "spec", "runPolicy", "ttlSecondsAfterFinished")
	return seconds, ok
}
