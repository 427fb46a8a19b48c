package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/controller/census"
	"github.com/musterhq/muster/exec/names"
)

var errKilled = errors.New("killed")

// mortal is a client whose process is killed at its write number `at`, before or after the API
// server has made that write. 0 means never. It counts the writes.
type mortal struct {
	client.WithWatch
	writes, at int // successful or not
	changed    int // writes that the API server accepted
	after      bool
	dead       bool
	log        []string
}

func (m *mortal) write(what string, o client.Object, do func() error) error {
	if m.dead {
		return errKilled
	}
	m.writes++
	if m.writes == m.at {
		m.dead = true
		if m.after {
			_ = do()
		}
		return errKilled
	}
	err := do()
	if err == nil {
		m.changed++
	}
	m.log = append(m.log, fmt.Sprintf("%s %T %s: %v", what, o, o.GetName(), err))
	return err
}

func (m *mortal) client() client.Client {
	return interceptor.NewClient(m.WithWatch, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if m.dead {
				return errKilled
			}
			return c.Get(ctx, key, o, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			o.SetUID(uuid.NewUUID()) // a real API server sets it, the fake one does not
			return m.write("create", o, func() error { return c.Create(ctx, o, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return m.write("delete", o, func() error { return c.Delete(ctx, o, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return m.write("update", o, func() error { return c.Update(ctx, o, opts...) })
		},
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			return m.write("apply", &corev1.Pod{}, func() error { return c.Apply(ctx, o, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			return m.write("status", o, func() error { return c.SubResource(sub).Update(ctx, o, opts...) })
		},
	})
}

// story holds the life of a job, with a controller that may be killed once.
type story struct {
	t     *testing.T
	truth client.WithWatch
	mine  client.WithWatch // has only the rights of the controller
	m     *mortal
	clock *clocktesting.FakePassiveClock
	key   client.ObjectKey
}

// settle reconciles until a reconcile writes nothing. It replaces a killed controller with a new
// one.
func (s *story) settle() {
	s.t.Helper()
	for range 60 {
		before := s.m.changed
		s.clock.SetTime(s.clock.Now().Add(2 * time.Second))
		_, err := s.reconciler(s.m.client()).Reconcile(s.t.Context(), reconcile.Request{NamespacedName: s.key})
		switch {
		case s.m.dead:
			s.m = &mortal{WithWatch: s.mine}
		case err != nil:
			s.t.Fatalf("reconcile: %v\n%v", err, s.m.log)
		case s.m.changed == before:
			return
		}
	}
	s.t.Fatalf("the controller never stops writing:\n%v", s.m.log)
}

func (s *story) reconciler(c client.Client) *Reconciler {
	series, err := census.NewChanges(prometheus.NewRegistry())
	require.NoError(s.t, err)
	return &Reconciler{Client: c, Reader: c, Events: &events.FakeRecorder{}, Clock: s.clock, Version: "test", AgentImage: "registry.example.com/muster-agent:1", Metrics: series}
}

func (s *story) pods() []corev1.Pod {
	var list corev1.PodList
	require.NoError(s.t, s.truth.List(s.t.Context(), &list, client.InNamespace(s.key.Namespace), client.MatchingLabels{names.LabelJob: s.key.Name}))
	return list.Items
}

func (s *story) job() *v1alpha1.LaunchJob {
	job := &v1alpha1.LaunchJob{}
	require.NoError(s.t, s.truth.Get(s.t.Context(), s.key, job))
	return job
}

// edit changes the spec of the job.
func (s *story) edit(change func(*v1alpha1.LaunchJob)) {
	s.t.Helper()
	job := s.job()
	change(job)
	require.NoError(s.t, s.truth.Update(s.t.Context(), job))
}

// kubelet changes the status of the named pods, or of all pods if there are no names.
func (s *story) kubelet(tell func(*corev1.Pod), only ...string) {
	for _, p := range s.pods() {
		if len(only) > 0 && !slices.Contains(only, p.Name) || p.Status.Phase == corev1.PodSucceeded {
			continue
		}
		before := p.Status.DeepCopy()
		tell(&p)
		if equality.Semantic.DeepEqual(*before, p.Status) {
			continue
		}
		require.NoError(s.t, s.truth.Status().Update(s.t.Context(), &p))
	}
}

func runs(at time.Time) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodRunning
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", Image: "i", ImageID: "sha256:1", Ready: true,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(at)}}}}
	}
}

func endsWith(code int32, at time.Time) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodSucceeded
		if code != 0 {
			p.Status.Phase = corev1.PodFailed
		}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", Image: "i", ImageID: "sha256:1",
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, StartedAt: metav1.NewTime(at), FinishedAt: metav1.NewTime(at)}}}}
	}
}

// live runs a job through an eviction, a failed worker, a deleted worker, and success. It returns
// the objects and the status that remain.
func (s *story) live(life *v1alpha1.LaunchJob) string {
	require.NoError(s.t, s.truth.Create(s.t.Context(), life))
	s.settle()
	s.kubelet(runs(s.clock.Now()))
	s.settle()
	require.Equal(s.t, v1alpha1.PhaseRunning, s.job().Status.Phase)
	s.kubelet(func(p *corev1.Pod) {
		endsWith(143, s.clock.Now())(p)
		disruptedBy("EvictionByEvictionAPI")(p)
	}, "pi-worker-1")
	s.settle()
	s.kubelet(endsWith(137, s.clock.Now().Add(-time.Hour)), "pi-worker-0")
	s.settle()
	s.kubelet(runs(s.clock.Now()))
	gone := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.key.Namespace, Name: "pi-worker-1"}}
	require.NoError(s.t, s.truth.Delete(s.t.Context(), gone, client.GracePeriodSeconds(0)))
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: s.key.Namespace, Name: "pi"}}
	require.NoError(s.t, s.truth.Delete(s.t.Context(), service))
	s.settle()
	s.kubelet(runs(s.clock.Now()))
	s.settle()
	s.kubelet(endsWith(0, s.clock.Now()), "pi-launcher")
	s.settle()
	s.clock.SetTime(s.clock.Now().Add(time.Hour))
	s.settle()
	return s.remains()
}

// remains returns the objects of the job and its status, without times.
func (s *story) remains() string {
	var list []string
	for _, kind := range []client.ObjectList{&corev1.PodList{}, &corev1.ServiceList{}, &corev1.ServiceAccountList{}, &rbacv1.RoleList{}, &rbacv1.RoleBindingList{}} {
		require.NoError(s.t, s.truth.List(s.t.Context(), kind, client.InNamespace(s.key.Namespace), client.MatchingLabels{names.LabelJob: s.key.Name}))
		items, err := metaItems(kind)
		require.NoError(s.t, err)
		for _, o := range items {
			list = append(list, fmt.Sprintf("%T %s", o, o.GetName()))
		}
	}
	slices.Sort(list)
	status := s.job().Status
	for _, r := range status.Replaced {
		list = append(list, r.Pod+" "+r.Reason)
	}
	return fmt.Sprintf("%v phase=%s replacements=%d attempt=%d", list, status.Phase, status.Replacements, status.Attempt)
}
