package kueue

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/musterhq/muster/exec/names"
)

// Types of conditions of a Workload.
const (
	quotaReserved = "QuotaReserved"
	admitted      = "Admitted"
	evicted       = "Evicted"
	requeued      = "Requeued"
	finished      = "Finished"
	podsReady     = "PodsReady"
)

// Reasons of conditions.
const (
	byPreemption   = "Preempted"    // of Evicted
	byNodeFailures = "NodeFailures" // of Evicted
	inadmissible   = "Inadmissible" // of QuotaReserved
	waitForStart   = "WaitForStart" // of PodsReady, and the others
	waitForRecover = "WaitForRecovery"
	started        = "Started"
	recovered      = "Recovered"
)

// Workload is what this package reads of one.
type Workload struct {
	fields

	object *unstructured.Unstructured
}

type fields struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		QueueName string   `json:"queueName"`
		Active    *bool    `json:"active"`
		PodSets   []podSet `json:"podSets"`
	} `json:"spec"`
	Status struct {
		Conditions      []metav1.Condition `json:"conditions"`
		Admission       *admission         `json:"admission"`
		AdmissionChecks []check            `json:"admissionChecks"`
		ReclaimablePods []podSet           `json:"reclaimablePods"`
	} `json:"status"`
}

type podSet struct {
	Name     string `json:"name"`
	Count    int32  `json:"count"`
	MinCount *int32 `json:"minCount"`
}

type admission struct {
	ClusterQueue      string       `json:"clusterQueue"`
	PodSetAssignments []assignment `json:"podSetAssignments"`
}

type assignment struct {
	Name               string            `json:"name"`
	Count              *int32            `json:"count"`
	Flavors            map[string]string `json:"flavors"` // by resource
	TopologyAssignment *struct{}         `json:"topologyAssignment"`
}

type check struct {
	Name          string   `json:"name"`
	State         string   `json:"state"`
	Message       string   `json:"message"`
	PodSetUpdates []update `json:"podSetUpdates"`
}

type update struct {
	Name         string              `json:"name"`
	Labels       map[string]string   `json:"labels"`
	Annotations  map[string]string   `json:"annotations"`
	NodeSelector map[string]string   `json:"nodeSelector"`
	Tolerations  []corev1.Toleration `json:"tolerations"`
}

// Read reads a Workload.
func Read(u *unstructured.Unstructured) (*Workload, error) {
	w := &Workload{object: u}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &w.fields); err != nil {
		return nil, fmt.Errorf("read Workload %s: %w", u.GetName(), err)
	}
	return w, nil
}

func (w *Workload) is(kind string) bool {
	return meta.IsStatusConditionTrue(w.Status.Conditions, kind)
}

func (w *Workload) condition(kind string) metav1.Condition {
	return ptr.Deref(meta.FindStatusCondition(w.Status.Conditions, kind), metav1.Condition{})
}

// Admitted reports whether there may be pods.
func (w *Workload) Admitted() bool {
	return w.is(quotaReserved) && w.is(admitted) && !w.is(evicted) && !w.is(finished) && w.DeletionTimestamp == nil && w.Status.Admission != nil
}

// Finished reports whether the Workload is over.
func (w *Workload) Finished() bool { return w.is(finished) }

// Queue returns the ClusterQueue whose quota the Workload has, or "".
func (w *Workload) Queue() string { return ptr.Deref(w.Status.Admission, admission{}).ClusterQueue }

// Sliced reports whether the Workload is a slice of an elastic job.
func (w *Workload) Sliced() bool { return Elastic(w.Annotations) }

// key returns the Workload's name as other Workloads write it.
func (w *Workload) key() string { return w.Namespace + "/" + w.Name }

// slice returns the name of the first slice of the job, by which Kueue finds its pods.
func (w *Workload) slice() string {
	if name := w.Annotations[sliceName]; name != "" {
		return name
	}
	return w.Name
}

// counts returns how many pods of each pod set the Workload has asked for.
func (w *Workload) counts() map[string]int {
	all := map[string]int{}
	for _, p := range w.Spec.PodSets {
		all[p.Name] = int(p.Count)
	}
	return all
}

// granted returns how many pods of each pod set Kueue has admitted, which are fewer after a partial admission.
func (w *Workload) granted() map[string]int {
	all := w.counts()
	for _, a := range ptr.Deref(w.Status.Admission, admission{}).PodSetAssignments {
		if a.Count != nil {
			all[a.Name] = min(all[a.Name], int(*a.Count))
		}
	}
	return all
}

// reclaimed returns how many pods of each pod set the job has given back. Kueue never returns their quota to a job that
// it has admitted.
func (w *Workload) reclaimed() map[string]int {
	all := map[string]int{}
	for _, p := range w.Status.ReclaimablePods {
		all[p.Name] = int(p.Count)
	}
	return all
}

// same reports whether the Workload was made from a request.
func (w *Workload) same(r Request) bool {
	spec, err := r.spec()
	return err == nil && w.Annotations[names.AnnotationRequest] == hash(spec)
}

// unfinished returns the Workloads that are not over, the oldest first. Creation times have whole seconds, so a slice
// that replaces another one comes after it.
func unfinished(all []*Workload) []*Workload {
	list := slices.DeleteFunc(slices.Clone(all), (*Workload).Finished)
	slices.SortStableFunc(list, func(a, b *Workload) int {
		switch {
		case b.Annotations[replaces] == a.key():
			return -1
		case a.Annotations[replaces] == b.key():
			return 1
		}
		if c := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return list
}
