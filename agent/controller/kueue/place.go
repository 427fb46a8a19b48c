package kueue

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/musterhq/muster/exec/names"
)

type ownerReference = metav1.OwnerReference

// Labels and annotations of the pods of an admitted job. Users read these comments in docs/reference/labels.md.
const (
	// Label of a pod: its role, as the Workload names it.
	podSetLabel = "kueue.x-k8s.io/podset"
	// Annotation of a pod: the Workload with which it was admitted.
	podWorkload = "kueue.x-k8s.io/workload"
	// Annotation of a pod: the number that Kueue takes from muster.dev/index to get the pod's place in its role.
	podOffset = "kueue.x-k8s.io/pod-index-offset"
)

// gate is the scheduling gate that Kueue removes when it has given a pod its place.
const gate = "kueue.x-k8s.io/topology"

// Place is what the admission adds to each pod of a pod set.
type Place struct {
	flavors     []string
	labels      map[string]string
	annotations map[string]string
	nodes       map[string]string
	tolerations []corev1.Toleration
	topology    bool
}

// Placed reports whether Kueue chooses the nodes.
func (p Place) Placed() bool { return p.topology }

// Flavors returns the ResourceFlavors of the pods, whose own labels and tolerations Flavor adds.
func (p Place) Flavors() []string { return p.flavors }

// Places returns what the admission of a Workload adds to the pods of each pod set.
func (w *Workload) Places(all []PodSet) map[string]Place {
	places := map[string]Place{}
	if w.Status.Admission == nil {
		return places
	}
	for _, a := range w.Status.Admission.PodSetAssignments {
		i := slices.IndexFunc(all, func(p PodSet) bool { return p.Name == a.Name })
		if i < 0 {
			continue
		}
		places[a.Name] = w.place(a, all[i], all)
	}
	return places
}

func (w *Workload) place(a assignment, set PodSet, all []PodSet) Place {
	p := Place{
		labels: map[string]string{podSetLabel: a.Name}, annotations: map[string]string{podWorkload: w.Name},
		nodes: map[string]string{}, topology: a.TopologyAssignment != nil,
		flavors: slices.Compact(slices.Sorted(maps.Values(a.Flavors))),
	}
	if w.Sliced() {
		p.annotations[sliceName] = w.slice()
	}
	if p.topology {
		notes := set.Template.Annotations
		if notes[topologyRequired]+notes[topologyPreferred]+notes[topologyFree] == "" {
			p.annotations[topologyFree] = "true" // a queue that places all of its jobs: Kueue knows their pods by this
		}
		if set.First >= 0 {
			p.annotations[names.AnnotationKueueIndexLabel] = names.LabelIndex // the launcher keeps this order of ranks
			if offset := set.offset(all); offset != 0 {
				p.annotations[podOffset] = strconv.Itoa(offset)
			}
		}
	}
	for _, c := range w.Status.AdmissionChecks {
		for _, u := range c.PodSetUpdates {
			if u.Name == a.Name {
				maps.Copy(p.labels, u.Labels)
				maps.Copy(p.annotations, u.Annotations)
				maps.Copy(p.nodes, u.NodeSelector)
				p.tolerate(u.Tolerations)
			}
		}
	}
	return p
}

// Flavor adds the node labels and tolerations of a ResourceFlavor.
func (p *Place) Flavor(u *unstructured.Unstructured) error {
	var flavor struct {
		Spec struct {
			NodeLabels  map[string]string   `json:"nodeLabels"`
			Tolerations []corev1.Toleration `json:"tolerations"`
		} `json:"spec"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &flavor); err != nil {
		return fmt.Errorf("read ResourceFlavor %s: %w", u.GetName(), err)
	}
	maps.Copy(p.nodes, flavor.Spec.NodeLabels)
	p.tolerate(flavor.Spec.Tolerations)
	return nil
}

func (p *Place) tolerate(list []corev1.Toleration) {
	for _, t := range list {
		p.tolerations = tolerating(p.tolerations, t)
	}
}

// tolerating adds a toleration to a list without one of the same taint.
func tolerating(list []corev1.Toleration, t corev1.Toleration) []corev1.Toleration {
	if slices.ContainsFunc(list, func(have corev1.Toleration) bool { return have.MatchToleration(&t) }) {
		return list
	}
	return append(list, t)
}

// Conflict returns what a template has in the place of what the admission wants, or "".
func (p Place) Conflict(t *corev1.PodTemplateSpec) string {
	for _, pair := range []struct {
		what       string
		have, want map[string]string
	}{{"label", t.Labels, p.labels}, {"annotation", t.Annotations, p.annotations}, {"nodeSelector", t.Spec.NodeSelector, p.nodes}} {
		for _, key := range slices.Sorted(maps.Keys(pair.want)) {
			if have, found := pair.have[key]; found && have != pair.want[key] {
				return fmt.Sprintf("%s %s is %q in the template, and Kueue's admission wants %q", pair.what, key, have, pair.want[key])
			}
		}
	}
	return ""
}

// Put gives a pod its place. Labels and annotations of the pod are not nil. The label of a queue is removed, because
// Kueue would admit such a pod a second time, by itself.
func (p Place) Put(pod *corev1.Pod) {
	delete(pod.Labels, names.LabelKueueQueue)
	maps.Copy(pod.Labels, p.labels)
	maps.Copy(pod.Annotations, p.annotations)
	if len(p.nodes) > 0 {
		nodes := maps.Clone(pod.Spec.NodeSelector)
		if nodes == nil {
			nodes = map[string]string{}
		}
		maps.Copy(nodes, p.nodes)
		pod.Spec.NodeSelector = nodes
	}
	for _, t := range p.tolerations {
		pod.Spec.Tolerations = tolerating(pod.Spec.Tolerations, t)
	}
	if p.topology {
		pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: gate})
	}
}
