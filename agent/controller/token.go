package controller

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/controller/children"
)

// shares reports whether the pods share a Secret. They are a launcher that reaches its workers by
// network, or members: there is no launcher, there are several pods, and the agent runs in them.
func (b builder) shares() bool {
	return children.ByNetwork(b.job) || b.job.Spec.Launcher == nil && len(b.slots) > 1 && !b.unwrapped(b.slots[0])
}

// shareToken reports whether pods can be created: the status names the Secret that the controller
// created. If it names none, or if a user deleted that Secret, shareToken creates one for the status
// to name. Pods wait until the status has the name, so that a killed controller never gives them two
// tokens or two pairs of keys.
func (r *Reconciler) shareToken(ctx context.Context, b builder, s *scene) (ready bool, err error) {
	if !b.shares() {
		return true, nil
	}
	if b.job.Status.TokenSecret != "" {
		if gone, err := r.tokenGone(ctx, b, s); err != nil || !gone {
			return err == nil, err
		}
	} else if len(s.steps.create) == 0 {
		return true, nil
	}
	secret := children.Secret(b.job, "")
	if err := r.Client.Create(ctx, secret, client.FieldOwner(fieldManager)); err != nil {
		return false, fmt.Errorf("create the Secret of the job's pods: %w", err)
	}
	s.token = secret.Name
	s.steps.again(0)
	return false, nil
}

// tokenGone reports whether a pod cannot start because its Secret was deleted. A dry-run create
// shows whether the name is free.
func (r *Reconciler) tokenGone(ctx context.Context, b builder, s *scene) (bool, error) {
	if !slices.ContainsFunc(s.places, func(p place) bool {
		return p.stage == starting && children.Waits(b.job, p.pod, p.status(), s.now)
	}) {
		return false, nil
	}
	err := r.Client.Create(ctx, children.Secret(b.job, b.job.Status.TokenSecret), client.DryRunAll, client.FieldOwner(fieldManager))
	if apierrors.IsAlreadyExists(err) {
		return false, nil // the container lacks something else
	}
	if err != nil {
		return false, fmt.Errorf("look for the Secret of the job's pods: %w", err)
	}
	return true, nil
}

// expel removes members with an earlier token from their places. The Secret of that token is gone,
// so members with the new token could not join them. A launcher and workers with earlier keys go on,
// because exec links them to those with newer ones. Only pods that wait for the earlier Secret go.
func (b builder) expel(places []place) (strangers []*corev1.Pod) {
	if !b.shares() || b.job.Status.TokenSecret == "" {
		return nil
	}
	for i, p := range places {
		if p.pod == nil || p.stage == done || p.stage != starting && b.job.Spec.Launcher != nil {
			continue
		}
		wanted := p.own(&p.template.Spec).DeepCopy()
		setEnv(wanted, b.memberEnv())
		if children.TokenOf(slot{container: p.main}.own(&p.pod.Spec)) != children.TokenOf(wanted) || children.OtherKey(&p.pod.Spec, b.job.Status.TokenSecret) {
			strangers = append(strangers, p.pod)
			places[i] = place{slot: p.slot, stage: going} // it still has the name
		}
	}
	return strangers
}
