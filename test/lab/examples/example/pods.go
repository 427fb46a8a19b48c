package example

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// Containers calls do for every container and init container of an object, with the spec of the pod
// that it belongs to.
func Containers(object *unstructured.Unstructured, do func(pod, container map[string]any)) {
	for _, pod := range Pods(object.Object) {
		for _, key := range []string{"initContainers", "containers"} {
			list, _ := pod[key].([]any)
			for _, c := range list {
				do(pod, c.(map[string]any))
			}
		}
	}
}

// Pods returns the spec of every pod template in a part of an object.
func Pods(part any) (all []map[string]any) {
	switch part := part.(type) {
	case map[string]any:
		if _, pod := part["containers"].([]any); pod {
			return []map[string]any{part}
		}
		for _, value := range part {
			all = append(all, Pods(value)...)
		}
	case []any:
		for _, value := range part {
			all = append(all, Pods(value)...)
		}
	}
	return all
}
