package controller

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/rendezvous"
)

// readEvents reads why a node cannot prepare pods of the job, such as a missing ConfigMap, and what
// the launcher reports. The right to read events is optional.
func (r *Reconciler) readEvents(ctx context.Context, job *v1alpha1.LaunchJob, s *scene) error {
	unwell := len(s.places) > 0 && s.places[0].unwell()
	if unwell || slices.ContainsFunc(s.places, func(p place) bool { return p.stage == starting && p.pod.Spec.NodeName != "" }) {
		s.steps.again(retryAfter) // a stuck pod does not change, so no watch event comes
	}
	if !unwell && !slices.ContainsFunc(s.places, func(p place) bool { return p.pod != nil && rendezvous.Stuck(p.pod, s.now) }) {
		return nil
	}
	var list corev1.EventList
	err := r.Reader.List(ctx, &list, client.InNamespace(job.Namespace), client.MatchingFieldsSelector{Selector: fields.ParseSelectorOrDie(rendezvous.PodEvents)})
	if s.unread = apierrors.IsForbidden(err); err != nil && !s.unread {
		return fmt.Errorf("list events: %w", err)
	}
	s.events = list.Items
	return nil
}
