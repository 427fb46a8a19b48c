package controller

import (
	"context"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/controller/children"
)

// ownWorkers lists the workers' pods that the job controls.
func ownWorkers(places []place) (list []string) {
	for _, p := range places {
		if p.pod != nil && !p.launcher() {
			list = append(list, p.pod.Name)
		}
	}
	return list
}

// grant creates or updates the Role of the launcher's account. The Role names only the job's own
// pods.
func (r *Reconciler) grant(ctx context.Context, from client.Reader, b builder, own []string, launcher bool) error {
	role := children.Role(b.job, own, launcher)
	_, err := r.children().Keep(ctx, from, b.job, role)
	if apierrors.IsForbidden(err) { // optional: the controller cannot grant the right to read events if it lacks that right
		role.Rules = slices.DeleteFunc(role.Rules, func(rule rbacv1.PolicyRule) bool { return slices.Contains(rule.Resources, "events") })
		_, err = r.children().Keep(ctx, from, b.job, role)
	}
	if err == nil {
		_, err = r.children().Keep(ctx, from, b.job, children.Binding(b.job))
	}
	return err
}

// revoke empties the Role of a job that has ended or has no pods, because another user may create
// pods with the names in it.
func (r *Reconciler) revoke(ctx context.Context, b builder) error {
	if b.job.Spec.Launcher == nil {
		return nil
	}
	want, have := children.NoRights(b.job), &rbacv1.Role{}
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(want), have)
	if err != nil || len(have.Rules) == 0 || children.Ours(b.job, want, have) != nil {
		return client.IgnoreNotFound(err)
	}
	_, err = r.children().Keep(ctx, r.Client, b.job, want)
	return err
}

// workerNames returns the original names of the workers' pods, without those of replacements.
func (b builder) workerNames() (list []string) {
	for _, s := range b.slots {
		if !s.launcher() {
			list = append(list, s.name)
		}
	}
	return list
}
