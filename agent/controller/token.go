package controller

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/exec/names"
)

const tokenKey = "token"

// shares reports whether the pods are members that share a token: there is no launcher, there are
// several pods, and the agent runs in them.
func (b builder) shares() bool {
	return b.job.Spec.Launcher == nil && len(b.slots) > 1 && !b.unwrapped(b.slots[0])
}

// token returns the Secret that members share. Without a name the API server chooses a free one.
// The controller may not read Secrets, so only a successful create proves that a Secret is its own.
func (b builder) token(name string) *corev1.Secret {
	secret := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: b.owned(name),
		StringData: map[string]string{tokenKey: rand.Text() + rand.Text()},
	}
	if name == "" {
		secret.GenerateName = b.job.Name + "-token-"
	}
	return secret
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
	secret := b.token("")
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
	err := r.Client.Create(ctx, b.token(b.job.Status.TokenSecret), client.DryRunAll, client.FieldOwner(fieldManager))
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
		if tokenOf(p.own(&p.pod.Spec)) != tokenOf(wanted) {
			strangers = append(strangers, p.pod)
			places[i] = place{slot: p.slot, stage: going} // it still has the name
		}
	}
	return strangers
}

// tokenOf returns the Secret of a member's token, or "".
func tokenOf(own *corev1.Container) string {
	for _, v := range own.Env {
		if v.Name == names.EnvToken && v.ValueFrom != nil && v.ValueFrom.SecretKeyRef != nil {
			return v.ValueFrom.SecretKeyRef.Name
		}
	}
	return ""
}
