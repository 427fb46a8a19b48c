//go:build !e2e

package controller

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/test/suite/fakeapi"
)

// preparing changes the pod to one that its node has been preparing for a minute.
func preparing(p *corev1.Pod) {
	p.CreationTimestamp, p.Spec.NodeName, p.Status.Phase = metav1.NewTime(now().Add(-time.Minute)), "n1", corev1.PodPending
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}}}
}

// TestReasonNamesTheVolume checks that the job's reason is the cause that the kubelet reports, also
// at the deadline. If the controller may not read events, the message names the missing right.
func TestReasonNamesTheVolume(t *testing.T) {
	said := corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "e", Namespace: "hpc"}, Type: corev1.EventTypeWarning, Reason: "FailedMount",
		Message: `MountVolume.SetUp failed for volume "cfg" : configmap "nope" not found`, LastTimestamp: metav1.NewTime(now())}
	forbidden := apierrors.NewForbidden(corev1.Resource("events"), "", errors.New("no"))
	for name, tc := range map[string]struct {
		err          error
		reason, want string
	}{
		"events allowed":   {nil, "FailedMount", `configmap "nope" not found; hint: create configmap nope in namespace hpc`},
		"events forbidden": {forbidden, "ContainerCreating", `add {apiGroups: [""], resources: [events], verbs: [list]}`},
	} {
		t.Run(name, func(t *testing.T) {
			job := aJob(t, "mpi")
			job.Status.Attempt = 1
			pod := aPod(job, "pi-worker-0", preparing)
			said.InvolvedObject = corev1.ObjectReference{Kind: "Pod", Name: pod.Name, UID: pod.UID}
			api := fakeapi.New(testScheme(t)).WithObjects(&said).
				WithIndex(&corev1.Event{}, "type", func(o client.Object) []string { return []string{o.(*corev1.Event).Type} }).
				WithIndex(&corev1.Event{}, "involvedObject.kind", func(o client.Object) []string { return []string{o.(*corev1.Event).InvolvedObject.Kind} }).
				WithInterceptorFuncs(interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
					if tc.err != nil {
						return tc.err
					}
					return c.List(ctx, list, opts...)
				}}).Build()
			b := aBuilder(job)
			sc := scene{now: now()}
			sc.places, _ = observe(b.slots, []*corev1.Pod{pod, aPod(job, "pi-launcher"), aPod(job, "pi-worker-1")}, b.attempt, sc.now)
			require.NoError(t, (&Reconciler{Reader: api}).readEvents(t.Context(), job, &sc))
			require.Positive(t, sc.steps.look, "reconcile again later: a stuck pod causes no watch event")
			job.Status = newStatus(job, sc)
			require.Equal(t, tc.reason, job.Status.Reason)
			require.Contains(t, job.Status.Message, tc.want)

			job.Spec.RunPolicy = &v1alpha1.RunPolicy{ActiveDeadlineSeconds: new(int64(60))}
			v := judgeJob(job, sc.places, now().Add(time.Hour))
			require.Equal(t, reasonDeadline, v.reason)
			require.Contains(t, v.message, tc.want)
		})
	}
}

// TestEventsAreOptional checks that a controller that may not read events still creates the
// launchers' Role.
func TestEventsAreOptional(t *testing.T) {
	job := aJob(t, "mpi")
	refuse := func(o client.Object) error {
		if role, ok := o.(*rbacv1.Role); ok && role.Rules[len(role.Rules)-1].Resources[0] != "pods/exec" || ok && len(role.Rules) > 2 {
			return apierrors.NewForbidden(rbacv1.Resource("roles"), role.Name, errors.New("attempting to grant RBAC permissions not currently held"))
		}
		return nil
	}
	api := fakeapi.New(testScheme(t)).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if err := refuse(o); err != nil {
				return err
			}
			return c.Create(ctx, o, opts...)
		}}).Build()
	r := &Reconciler{Client: api, Reader: api}
	require.NoError(t, r.grant(t.Context(), api, aBuilder(job), []string{"pi-worker-0"}, false))
	var role rbacv1.Role
	require.NoError(t, api.Get(t.Context(), client.ObjectKey{Namespace: "hpc", Name: "pi-launcher"}, &role))
	require.Len(t, role.Rules, 2)
}
