package history

import (
	"slices"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// MostReplaced is the largest number of pods in status.replaced.
const MostReplaced = 64

// Bounded removes the oldest pods from a list that is too long. Pods that still exist stay. Pods that
// count against maxRestarts are removed last.
func Bounded(list []v1alpha1.Replaced, exists func(uid string) bool) []v1alpha1.Replaced {
	surplus := len(list) - MostReplaced
	for _, also := range []bool{false, true} {
		list = slices.DeleteFunc(list, func(r v1alpha1.Replaced) bool {
			if surplus <= 0 || exists(r.UID) || !r.FailedAt.IsZero() && !also {
				return false
			}
			surplus--
			return true
		})
	}
	return list
}
