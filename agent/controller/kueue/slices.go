package kueue

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/musterhq/muster/exec/names"
)

// An elastic job with slices has a second Workload while it is scaled up. It asks for all pods of the job. Kueue ends
// the first one when it reserves quota for the second, and admits that a moment later.

// scale decides for an elastic job that Kueue has admitted: more pods need another slice, fewer a smaller one.
func (v View) scale(d Decision) (_ Decision, err error) {
	w := d.Current
	want, asked := v.Want.counts(), w.counts()
	if set, n := exceeds(want, asked); set != "" {
		next := v.Want
		next.Meta.Name = fmt.Sprintf("%s.%d", v.Want.Meta.Name, v.Want.Generation) // jobs have no dots in their names
		d.Reason, d.Message = Fewer, fmt.Sprintf("Kueue has admitted %d pods of the role %s, and the job wants %d: Workload %s asks for them", asked[set], set, n, next.Meta.Name)
		if d.Object, err = next.workload(); err != nil {
			return d, err
		}
		notes := d.Object.GetAnnotations()
		notes[replaces], notes[sliceName] = w.key(), w.slice()
		d.Object.SetAnnotations(notes)
		d.Step = Create
		return d, nil
	}
	if set, _ := exceeds(asked, want); set != "" {
		d.Step = Update
		d.Object, err = w.shrink(v.Want)
	}
	return d, err
}

// two decides for a job with a slice that is to replace another one.
func (v View) two(old, next *Workload) (d Decision, err error) {
	d = Decision{Current: old, Keep: true, Pods: old.Admitted(), Limit: old.granted(), Reason: Fewer}
	_, d.Message = next.waits()
	more, _ := exceeds(v.Want.counts(), old.counts())
	switch {
	case next.is(quotaReserved) && next.Annotations[replaces] == old.key(): // Kueue was killed in between
		d.Pods = false
		d.Step, d.Object = UpdateStatus, old.finish("OutOfSync", "The workload slice is out of sync with its parent job", v.Now)
	case old.is(evicted) || !old.is(quotaReserved) || old.DeletionTimestamp != nil:
		d.Pods, d.Keep, d.Limit = false, false, nil
		d.Reason, d.Message = old.waits()
		if v.Alive == 0 {
			d.Step, d.Object = UpdateStatus, old.finish("OutOfSync", "The workload slice is out of sync with its parent job", v.Now)
		}
	case more == "": // scaled down again
		d.Reason, d.Message = 0, ""
		d.Step, d.Object = Delete, next.object
	case !next.same(v.Want):
		d.Step = Update
		d.Object, err = next.rewrite(v.Want)
	}
	return d, err
}

// before returns the number of pods of the slice that another one replaces.
func (v View) before(next *Workload) map[string]int {
	for _, w := range v.All {
		if w.key() == next.Annotations[replaces] {
			return w.counts()
		}
	}
	return next.counts()
}

// shrink returns the Workload with fewer pods, which is the only change that Kueue allows to one with quota.
func (w *Workload) shrink(r Request) (*unstructured.Unstructured, error) {
	u, want := w.object.DeepCopy(), r.counts()
	sets, _, err := unstructured.NestedSlice(u.Object, "spec", "podSets")
	if err != nil {
		return nil, fmt.Errorf("read Workload %s: %w", w.Name, err)
	}
	for i := range sets {
		set, _ := sets[i].(map[string]any)
		name, _ := set["name"].(string)
		if n, found := want[name]; found && n < w.counts()[name] {
			set["count"] = int64(n)
		}
	}
	if err := unstructured.SetNestedSlice(u.Object, sets, "spec", "podSets"); err != nil {
		return nil, fmt.Errorf("change Workload %s: %w", w.Name, err)
	}
	spec, err := r.spec()
	if err != nil {
		return nil, err
	}
	mark(u, spec)
	return u, nil
}

// mark notes the spec from which a Workload was last changed.
func mark(u *unstructured.Unstructured, spec map[string]any) {
	notes := u.GetAnnotations()
	if notes == nil {
		notes = map[string]string{}
	}
	notes[names.AnnotationRequest] = hash(spec)
	u.SetAnnotations(notes)
}
