package serve

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/kubeflow"
	"github.com/musterhq/muster/exec/names"
)

// queueName and prebuilt are Kueue's labels. Kueue holds the object through its own integration for the kind; its
// LaunchJob must not be queued again.
const (
	queueName = names.LabelKueueQueue
	prebuilt  = "kueue.x-k8s.io/prebuilt-workload-name"
)

// convert returns the LaunchJob of an object, and findings about what it does not carry over. The
// sentence says why there can be none.
func (r *Reconciler) convert(o *unstructured.Unstructured) (job *v1alpha1.LaunchJob, warnings []kubeflow.Finding, sentence string) {
	result := r.Convert(written(o))
	for _, f := range result.Findings {
		switch {
		case f.Fatal:
			return nil, nil, says(f)
		case !f.Note:
			warnings = append(warnings, f)
		}
	}
	job = result.Job
	job.Namespace, job.Name = o.GetNamespace(), o.GetName()
	job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(o, r.Kind.gvk())}
	if job.Annotations == nil {
		job.Annotations = map[string]string{}
	}
	job.Annotations[names.AnnotationMadeFrom] = strconv.FormatInt(o.GetGeneration(), 10)
	if p := job.Spec.RunPolicy; p != nil {
		p.TTLSecondsAfterFinished = nil // a LaunchJob that goes before its object has the end would be made and run again
	}
	return job, warnings, ""
}

// written returns what the user wrote of an object. It leaves out owners and status, which are not
// for the LaunchJob.
func written(o *unstructured.Unstructured) map[string]any {
	from := o.DeepCopy()
	to := &unstructured.Unstructured{Object: map[string]any{"spec": from.Object["spec"]}}
	to.SetGroupVersionKind(from.GroupVersionKind())
	to.SetName(from.GetName())
	to.SetNamespace(from.GetNamespace())
	labels := from.GetLabels()
	delete(labels, queueName)
	delete(labels, prebuilt)
	to.SetLabels(labels)
	to.SetAnnotations(from.GetAnnotations())
	return to.Object
}

// says returns a finding as a sentence.
func says(f kubeflow.Finding) string {
	text := f.Text
	if f.Field != "" {
		text = f.Field + ": " + text
	}
	if f.Way != "" {
		text += ": " + f.Way
	}
	return text
}

// make creates the LaunchJob. The sentence says why the API server rejected it.
func (r *Reconciler) make(ctx context.Context, o *unstructured.Unstructured, job *v1alpha1.LaunchJob, warnings []kubeflow.Finding) (sentence string, err error) {
	err = r.Client.Create(ctx, job, client.FieldOwner(fieldManager))
	switch {
	case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
		return err.Error(), nil
	case err != nil:
		return "", fmt.Errorf("create LaunchJob %s: %w", job.Name, err)
	}
	for _, f := range warnings {
		r.Events.Eventf(o, nil, corev1.EventTypeWarning, "NotCarried", "Convert", "%s", says(f))
	}
	return "", nil
}

// follow changes the LaunchJob after a change of its object. A suspended job can change completely,
// because nothing runs. Otherwise only its deadline, its cleanup, and the number of workers of an
// elastic job can change. If the API server or the conversion rejects the change, the LaunchJob goes on as it is, but
// it is suspended if the object is.
func (r *Reconciler) follow(ctx context.Context, o *unstructured.Unstructured, job *v1alpha1.LaunchJob) error {
	if job.Annotations[names.AnnotationMadeFrom] == strconv.FormatInt(o.GetGeneration(), 10) {
		return r.untimed(ctx, job)
	}
	want, _, sentence := r.convert(o)
	if sentence == "" {
		err := r.change(ctx, r.changed(o, job, want))
		if !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) {
			return err
		}
		sentence = err.Error()
	}
	r.unchanged(o, sentence)
	next := job.DeepCopy()
	p := ptr.Deref(next.Spec.RunPolicy, v1alpha1.RunPolicy{})
	if !suspended(o) || p.Suspend {
		return nil
	}
	p.Suspend = true
	next.Spec.RunPolicy = &p
	return r.change(ctx, next)
}

// changed returns a LaunchJob with what can be changed of it now.
func (r *Reconciler) changed(o *unstructured.Unstructured, job, want *v1alpha1.LaunchJob) *v1alpha1.LaunchJob {
	next := job.DeepCopy()
	if p := job.Spec.RunPolicy; p != nil && p.Suspend {
		next.Spec = want.Spec
	} else {
		next.Spec.RunPolicy = want.Spec.RunPolicy
		if job.Spec.Elastic != nil {
			next.Spec.Workers = want.Spec.Workers
		} else if !sameWorkers(job, want) {
			r.unchanged(o, "workers can be changed only in an elastic job, or while the job is suspended (runPolicy.suspend)")
		}
	}
	if next.Annotations == nil {
		next.Annotations = map[string]string{}
	}
	next.Annotations[names.AnnotationMadeFrom] = want.Annotations[names.AnnotationMadeFrom]
	return next
}

// change updates a LaunchJob.
func (r *Reconciler) change(ctx context.Context, next *v1alpha1.LaunchJob) error {
	if err := r.Client.Update(ctx, next, client.FieldOwner(fieldManager)); err != nil {
		return fmt.Errorf("change LaunchJob %s: %w", next.Name, err)
	}
	return nil
}

// untimed removes the time to live from a LaunchJob, which an older controller has set.
func (r *Reconciler) untimed(ctx context.Context, job *v1alpha1.LaunchJob) error {
	if p := job.Spec.RunPolicy; p == nil || p.TTLSecondsAfterFinished == nil {
		return nil
	}
	next := job.DeepCopy()
	next.Spec.RunPolicy.TTLSecondsAfterFinished = nil
	return r.change(ctx, next)
}

// unchanged reports that a change of the object has no effect.
func (r *Reconciler) unchanged(o *unstructured.Unstructured, sentence string) {
	r.Events.Eventf(o, nil, corev1.EventTypeWarning, "ChangeNotCarried", "Follow", "%s", clip(sentence))
}

func sameWorkers(a, b *v1alpha1.LaunchJob) bool {
	return a.Spec.Workers == nil || b.Spec.Workers == nil || *a.Spec.Workers == *b.Spec.Workers
}

// clip shortens a sentence to fit an event or a condition.
func clip(text string) string {
	const most = 900
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}
