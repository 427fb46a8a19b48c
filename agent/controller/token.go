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

// shares reports whether the pods are members that share a token: there is no launcher, there are
// several pods, and the agent runs in them.
func (b builder) shares() bool {
	return b.job.Spec.Launcher == nil && len(b.slots) > 1 && !b.unwrapped(b.slots[0])
}

// shareToken reports whether members can be created: the status names the Secret that the
// controller created. If it names none, or if a user deleted that Secret, shareToken creates one
// for the status to name. Members wait until the status has the name, so that a killed controller
// never gives them two tokens.
func (r *Reconciler) shareToken(ctx context.Context, b builder, s *scene) (ready bool, err error) {
	if !b.shares() {
		return true, nil
	}
	if b.job.Status.TokenSecret != "" {
		if gone, err := r.tokenGone(ctx, b, s.places); err != nil || !gone {
			return err == nil, err
		}
	} else if len(s.steps.create) == 0 {
		return true, nil
	}
	secret := children.Token(b.job, "")
	if err := r.Client.Create(ctx, secret, client.FieldOwner(fieldManager)); err != nil {
		return false, fmt.Errorf("create the members' token: %w", err)
	}
	s.token = secret.Name
	s.steps.again(0)
	return false, nil
}

// tokenGone reports whether a member cannot start because its Secret was deleted. A dry-run create
// shows whether the name is free.
func (r *Reconciler) tokenGone(ctx context.Context, b builder, places []place) (bool, error) {
	if !slices.ContainsFunc(places, func(p place) bool {
		if p.stage != starting {
			return false
		}
		w := p.status().State.Waiting
		return w != nil && w.Reason == "CreateContainerConfigError"
	}) {
		return false, nil
	}
	err := r.Client.Create(ctx, children.Token(b.job, b.job.Status.TokenSecret), client.DryRunAll, client.FieldOwner(fieldManager))
	if apierrors.IsAlreadyExists(err) {
		return false, nil // the container lacks something else
	}
	if err != nil {
		return false, fmt.Errorf("look for the members' token: %w", err)
	}
	return true, nil
}

// expel removes members with an earlier token from their places. The Secret of that token is gone,
// so members with the new token could not join them.
func (b builder) expel(places []place) (strangers []*corev1.Pod) {
	if !b.shares() || b.job.Status.TokenSecret == "" {
		return nil
	}
	for i, p := range places {
		if p.pod == nil || p.stage == done {
			continue
		}
		wanted := p.own(&p.template.Spec).DeepCopy()
		setEnv(wanted, b.memberEnv())
		if children.TokenOf(p.own(&p.pod.Spec)) != children.TokenOf(wanted) {
			strangers = append(strangers, p.pod)
			places[i] = place{slot: p.slot, stage: going} // it still has the name
		}
	}
	return strangers
}
