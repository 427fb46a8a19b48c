package serve

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Types of conditions, the same for all kinds.
const (
	created      = "Created"
	running      = "Running"
	restarting   = "Restarting"
	isSuspended  = "Suspended"
	hasSucceeded = "Succeeded"
	hasFailed    = "Failed"
)

// status is the status of every kind.
type status struct {
	Conditions      []condition       `json:"conditions"`
	ReplicaStatuses map[string]counts `json:"replicaStatuses"`
	StartTime       *metav1.Time      `json:"startTime,omitempty"`
	CompletionTime  *metav1.Time      `json:"completionTime,omitempty"`
	// LastReconcileTime is kept but never set. The operators set it only while they wait for a
	// PodGroup before they create pods, which does not happen here.
	LastReconcileTime *metav1.Time `json:"lastReconcileTime,omitempty"`
}

type condition struct {
	Type               string      `json:"type"`
	Status             string      `json:"status"`
	Reason             string      `json:"reason,omitempty"`
	Message            string      `json:"message,omitempty"`
	LastUpdateTime     metav1.Time `json:"lastUpdateTime,omitempty"`
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty"`
}

// counts counts the pods of one type.
type counts struct {
	Active    int32  `json:"active,omitempty"`
	Succeeded int32  `json:"succeeded,omitempty"`
	Failed    int32  `json:"failed,omitempty"`
	Selector  string `json:"selector,omitempty"`
}

// readStatus returns the status of an object, or an empty one.
func readStatus(o *unstructured.Unstructured) (status, error) {
	var s status
	fields, _, err := unstructured.NestedMap(o.Object, "status")
	if err == nil && fields != nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &s)
	}
	if err != nil {
		return s, fmt.Errorf("read the status of %s: %w", o.GetName(), err)
	}
	return s, nil
}

// write puts the status into an object.
func (s status) write(o *unstructured.Unstructured) error {
	if s.ReplicaStatuses == nil {
		s.ReplicaStatuses = map[string]counts{} // required by their CRDs
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&s)
	if err != nil {
		return fmt.Errorf("convert the status of %s: %w", o.GetName(), err)
	}
	o.Object["status"] = fields
	return nil
}

func (s status) find(kind string) *condition {
	for i := range s.Conditions {
		if s.Conditions[i].Type == kind {
			return &s.Conditions[i]
		}
	}
	return nil
}

func (s status) is(kind string) bool {
	c := s.find(kind)
	return c != nil && c.Status == "True"
}

func (s status) finished() bool { return s.is(hasSucceeded) || s.is(hasFailed) }

// set sets a condition like both operators. A condition that changes moves to the end of the list,
// which kubectl's columns show. Running and Restarting replace each other. At the end Running
// becomes False. In training-operator (v1) the conditions of a failed job no longer change. In
// mpi-operator Failed becomes False like Running.
func (s *status) set(v1 bool, c condition, now metav1.Time) {
	if v1 && s.is(hasFailed) {
		return
	}
	c.LastUpdateTime, c.LastTransitionTime = now, now
	if have := s.find(c.Type); have != nil && have.Status == c.Status {
		if have.Reason == c.Reason {
			return
		}
		c.LastTransitionTime = have.LastTransitionTime
	}
	kept := slices.DeleteFunc(slices.Clone(s.Conditions), func(have condition) bool {
		return have.Type == c.Type || c.Type == restarting && have.Type == running || c.Type == running && have.Type == restarting
	})
	if c.Type == hasFailed || c.Type == hasSucceeded {
		for i := range kept {
			if kept[i].Type == running || !v1 && kept[i].Type == hasFailed {
				kept[i].Status = "False"
			}
		}
	}
	s.Conditions = append(kept, c)
}
