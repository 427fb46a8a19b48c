package kueue

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/musterhq/muster/exec/names"
)

// Group is the API group of Kueue.
const Group = "kueue.x-k8s.io"

// Labels and annotations that a LaunchJob may have, as the jobs that Kueue knows itself. Users read these comments
// in docs/reference/labels.md.
const (
	// Label of a LaunchJob: the WorkloadPriorityClass by which Kueue orders it, in place of gang.priorityClassName.
	jobPriority = "kueue.x-k8s.io/priority-class"
	// Label of a LaunchJob: how many seconds it may run until Kueue stops it.
	jobSeconds = "kueue.x-k8s.io/max-exec-time-seconds"
	// Label of a LaunchJob: the Workload to use. MultiKueue sets it on a worker cluster.
	jobPrebuilt = "kueue.x-k8s.io/prebuilt-workload-name"
	// Annotation of an elastic LaunchJob: with "true", a job that runs gets more workers when Kueue admits them.
	jobElastic = "kueue.x-k8s.io/elastic-job"
)

// Manager is the value of spec.managedBy of a job that runs on another cluster.
const Manager = "kueue.x-k8s.io/multikueue"

const (
	ownerUID         = "kueue.x-k8s.io/job-uid"
	provisioning     = "provreq.kueue.x-k8s.io/" // prefix of annotations
	replaces         = "kueue.x-k8s.io/workload-slice-replacement-for"
	sliceName        = "kueue.x-k8s.io/workload-slice-name"
	priorityGroup    = "scheduling.k8s.io"
	v1beta1          = "v1beta1"
	v1beta1OfKueue   = "kueue.x-k8s.io/workloadpriorityclass"
	v1beta1OfCluster = "scheduling.k8s.io/priorityclass"
)

// Labels are labels of a job that are for Kueue.
type Labels map[string]string

// Queue returns the queue that the labels name, or "".
func (l Labels) Queue() string { return l[names.LabelKueueQueue] }

// Prebuilt returns the Workload that the labels name, or "".
func (l Labels) Prebuilt() string { return l[jobPrebuilt] }

// PriorityClass returns the WorkloadPriorityClass that the labels name, or "".
func (l Labels) PriorityClass() string { return l[jobPriority] }

// Elastic reports whether the annotations of a job ask for slices.
func Elastic(annotations map[string]string) bool { return annotations[jobElastic] == "true" }

// PodSet is a role of a job.
type PodSet struct {
	Name     string
	Count    int
	Min      int // fewer than Count are enough, but not fewer than Min; 0: all
	First    int // the number of the first pod in its index label; below 0: the pods have none
	Template *corev1.PodTemplateSpec
}

// Priority is the priority of a job among those of its queue.
type Priority struct {
	Class   string
	OfKueue bool // the class is a WorkloadPriorityClass, not one of pods
	Value   int32
}

// Request is what a job asks of Kueue.
type Request struct {
	Meta        metav1.ObjectMeta // name, namespace, owner and labels
	Version     string            // of the API, which the cluster serves
	Generation  int64             // of the job
	Labels      Labels            // of the job
	Annotations map[string]string // of the job
	Queue       string
	Prebuilt    string    // the Workload that somebody else has made for the job; "": none
	Priority    *Priority // nil: 0
	Elastic     bool      // the job may be scaled while it runs, in slices
	PodSets     []PodSet
}

// counts returns the number of pods of each pod set.
func (r Request) counts() map[string]int {
	all := map[string]int{}
	for _, p := range r.PodSets {
		all[p.Name] = p.Count
	}
	return all
}

// workload returns the job's Workload.
func (r Request) workload() (*unstructured.Unstructured, error) {
	spec, err := r.spec()
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: Group, Version: r.Version, Kind: "Workload"})
	u.SetName(r.Meta.Name)
	u.SetNamespace(r.Meta.Namespace)
	u.SetOwnerReferences(r.Meta.OwnerReferences)
	labels, annotations := maps.Clone(r.Meta.Labels), map[string]string{names.AnnotationRequest: hash(spec)}
	for _, owner := range r.Meta.OwnerReferences {
		labels[ownerUID] = string(owner.UID)
	}
	for key, value := range r.Annotations {
		if strings.HasPrefix(key, provisioning) {
			annotations[key] = value
		}
	}
	if r.Elastic {
		annotations[jobElastic], annotations[sliceName] = "true", r.Meta.Name
	}
	u.SetLabels(labels)
	u.SetAnnotations(annotations)
	return u, nil
}

// spec returns the spec of the Workload.
func (r Request) spec() (map[string]any, error) {
	var sets []any
	for _, p := range r.PodSets {
		set, err := p.object(r.PodSets, r.Elastic)
		if err != nil {
			return nil, fmt.Errorf("role %s: %w", p.Name, err)
		}
		sets = append(sets, set)
	}
	spec := map[string]any{"podSets": sets}
	if r.Queue != "" {
		spec["queueName"] = r.Queue
	}
	if seconds, err := strconv.ParseInt(r.Labels[jobSeconds], 10, 32); err == nil && seconds > 0 {
		spec["maximumExecutionTimeSeconds"] = seconds
	}
	if p := r.Priority; p != nil {
		spec["priority"] = int64(p.Value)
		p.class(spec, r.Version)
	}
	return spec, nil
}

// class names the priority class, in which the versions of the API differ.
func (p Priority) class(spec map[string]any, version string) {
	group, kind, source := priorityGroup, "PriorityClass", v1beta1OfCluster
	if p.OfKueue {
		group, kind, source = Group, "WorkloadPriorityClass", v1beta1OfKueue
	}
	switch {
	case p.Class == "": // the cluster's default priority
	case version == v1beta1:
		spec["priorityClassName"], spec["priorityClassSource"] = p.Class, source
	default:
		spec["priorityClassRef"] = map[string]any{"group": group, "kind": kind, "name": p.Class}
	}
}

// object returns the pod set as Kueue reads it. A job with slices has no minimum: Kueue would admit fewer pods once,
// and then count the rest as a scale-up.
func (p PodSet) object(all []PodSet, slices bool) (map[string]any, error) {
	template, err := p.bare()
	if err != nil {
		return nil, err
	}
	set := map[string]any{"name": p.Name, "count": int64(p.Count), "template": template}
	if p.Min > 0 && p.Min < p.Count && !slices {
		set["minCount"] = int64(p.Min)
	}
	request, err := p.topology(all)
	if err != nil {
		return nil, err
	}
	if len(request) > 0 {
		set["topologyRequest"] = request
	}
	return set, nil
}

// bare returns the template without the environment of its containers, which says nothing about what a pod needs.
// It changes with each attempt, and may hold what is not for readers of Workloads.
func (p PodSet) bare() (map[string]any, error) {
	t := p.Template.DeepCopy()
	for _, list := range [][]corev1.Container{t.Spec.InitContainers, t.Spec.Containers} {
		for i := range list {
			list[i].Env, list[i].EnvFrom = nil, nil
		}
	}
	u, err := runtime.DefaultUnstructuredConverter.ToUnstructured(t)
	if err != nil {
		return nil, fmt.Errorf("convert the template: %w", err)
	}
	if meta, ok := u["metadata"].(map[string]any); ok {
		delete(meta, "creationTimestamp")
	}
	return u, nil
}

// hash identifies a spec that this package has made. The spec that the API server returns has defaults, so the two
// cannot be compared.
func hash(spec map[string]any) string {
	text, err := json.Marshal(spec) // in the order of the keys
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
