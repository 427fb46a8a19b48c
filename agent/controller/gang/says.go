package gang

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// waits are conditions of gangs that are False while the gang waits. Kubernetes 1.36 reports
// PodGroupScheduled, 1.37 reports PodGroupInitiallyScheduled.
var waits = []any{"PodGroupScheduled", "PodGroupInitiallyScheduled"}

// Says returns why a gang waits, in its scheduler's words, or "" if it does not. Volcano leaves both of
// its conditions True, in their old places, so the newest condition decides.
func Says(u *unstructured.Unstructured) (why string) {
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	newest := ""
	for i := range conditions {
		c, _ := conditions[i].(map[string]any)
		at, _ := c["lastTransitionTime"].(string)
		switch bad := c["type"] == "Unschedulable" && c["status"] == "True" || c["status"] == "False" && slices.Contains(waits, c["type"]); {
		case bad && at >= newest:
			newest, why = at, fmt.Sprintf("%s %s: %v", u.GetKind(), u.GetName(), c["message"])
		case c["type"] == "Scheduled" && at >= newest:
			newest, why = at, ""
		}
	}
	return why
}
