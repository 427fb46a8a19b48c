package exclude

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/rendezvous"
)

// Causes of failures for which a node may be excluded, besides names.WhyPreflight. No cause means
// that the program may be at fault.
const (
	lost   = "lost" // the pod was lost with its node
	device = names.WhyDevice
)

// End is how a pod ended that is replaced.
type End struct {
	Pod   *corev1.Pod
	Code  int32  // exit code of the pod's own container; 0 if it has not ended
	Words string // its last words
}

// Cause returns the fault of the pod's node, or "". The launcher's word comes before the health of the
// devices, because the launcher knows why it gave up the worker.
func (e End) Cause() string {
	switch {
	case e.Pod.Spec.NodeName == "":
		return ""
	case e.nodeLost():
		return lost
	case e.Code == names.ExitReplaced && names.ReplacedWhy(e.Words) != "":
		return names.ReplacedWhy(e.Words)
	case e.Code != 0 && rendezvous.Unhealthy(e.Pod):
		return device
	}
	return ""
}

// nodeLost reports whether the pod was lost with its node. A node that an administrator taints or
// drains still answers.
func (e End) nodeLost() bool {
	why, _ := rendezvous.Disrupted(e.Pod)
	switch why {
	case "NodeLost":
		return true
	case "DeletionByTaintManager":
		return rendezvous.Silent(e.Pod)
	case "":
		return e.Pod.DeletionTimestamp != nil && rendezvous.Silent(e.Pod)
	}
	return false
}
