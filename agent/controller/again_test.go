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
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/controller/children"
	"github.com/musterhq/muster/exec/names"
)

// kindOfJob describes a job with or without a launcher, with one worker or several.
type kindOfJob struct {
	name      string
	led       bool
	workers   int32
	transport string
}

var kindsOfJob = []kindOfJob{{"launcher, one worker", true, 1, ""}, {"launcher, workers", true, 2, "exec"}, {"one member", false, 1, ""}, {"members", false, 2, ""},
	{"launcher, workers by network", true, 2, "network"}}

func (k kindOfJob) job(key client.ObjectKey) *v1alpha1.LaunchJob {
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{SchedulerName: "nobody", Containers: []corev1.Container{{Name: "main", Image: "i", Command: []string{"train"}}}}}
	job := &v1alpha1.LaunchJob{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	job.Spec = v1alpha1.LaunchJobSpec{Framework: "plain", Workers: &k.workers, Roles: []v1alpha1.Role{{Name: "worker", Template: template}},
		RunPolicy: &v1alpha1.RunPolicy{BackoffLimit: 1}, RestartPolicy: &v1alpha1.RestartPolicy{MaxRestarts: 9}}
	if k.led {
		job.Spec.Launcher = &v1alpha1.Launcher{Template: template}
	}
	job.Spec.Transport = k.transport
	return job
}

func aStory(t *testing.T, at int, after bool) *story {
	s := &story{t: t, clock: clocktesting.NewFakePassiveClock(time.Now())}
	s.truth, s.mine, s.key = newWorld(t)
	s.m = &mortal{WithWatch: s.mine, at: at, after: after}
	return s
}

// starts makes the pods start like a kubelet: their containers run. A pod that has not started
// waits if its Secret is missing.
func (s *story) starts() {
	s.t.Helper()
	s.kubelet(func(p *corev1.Pod) {
		began := len(p.Status.ContainerStatuses) > 0 && p.Status.ContainerStatuses[0].State.Waiting == nil
		if secret := children.TokenOf(&p.Spec.Containers[0]); !began && secret != "" {
			err := s.truth.Get(s.t.Context(), client.ObjectKey{Namespace: p.Namespace, Name: secret}, &corev1.Secret{})
			if apierrors.IsNotFound(err) {
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", Image: "i", State: corev1.ContainerState{
					Waiting: &corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError", Message: "secret not found"}}}}
				return
			}
			require.NoError(s.t, err)
		}
		if !began && p.Status.Phase != corev1.PodFailed {
			runs(s.clock.Now())(p)
		}
	})
}

// running requires that all pods of the job run with the same Secret, and that all its objects
// exist.
func (s *story) running(k kindOfJob) {
	s.t.Helper()
	for range 4 {
		s.settle()
		s.starts()
	}
	s.settle()
	status := s.job().Status
	require.Equal(s.t, v1alpha1.PhaseRunning, status.Phase, "%s: %s", status.Reason, status.Message)
	secrets, pods := map[string]int{}, int(k.workers)
	for _, p := range s.pods() {
		secrets[secretOf(p)]++
	}
	if k.led {
		pods++
	}
	if k.transport == "network" || !k.led && k.workers > 1 {
		secret := &corev1.Secret{}
		require.NoError(s.t, s.truth.Get(s.t.Context(), client.ObjectKey{Namespace: s.key.Namespace, Name: status.TokenSecret}, secret))
		require.True(s.t, metav1.IsControlledBy(secret, s.job()))
	} else {
		require.Empty(s.t, status.TokenSecret)
	}
	require.Equal(s.t, map[string]int{status.TokenSecret: pods}, secrets)
	for _, child := range children.First(s.job(), builder{job: s.job(), slots: layout(s.job())}.workerNames()) {
		require.NoError(s.t, s.truth.Get(s.t.Context(), client.ObjectKeyFromObject(child), child))
	}
}

// secretOf returns the Secret that a pod gets its token or key from, or "".
func secretOf(p corev1.Pod) string {
	for _, v := range p.Spec.Volumes {
		if v.Name == children.KeyVolume {
			return v.Secret.SecretName
		}
	}
	return children.TokenOf(&p.Spec.Containers[0])
}

// own returns the objects of the job.
func (s *story) own() (all []client.Object) {
	for _, kind := range []client.ObjectList{&corev1.PodList{}, &corev1.ServiceList{}, &corev1.ServiceAccountList{}, &corev1.SecretList{}, &rbacv1.RoleList{}, &rbacv1.RoleBindingList{}} {
		require.NoError(s.t, s.truth.List(s.t.Context(), kind, client.InNamespace(s.key.Namespace), client.MatchingLabels{names.LabelJob: s.key.Name}))
		items, err := metaItems(kind)
		require.NoError(s.t, err)
		all = append(all, items...)
	}
	return all
}

func (s *story) suspend(yes bool) {
	job := s.job()
	job.Spec.RunPolicy.Suspend = yes
	require.NoError(s.t, s.truth.Update(s.t.Context(), job))
	s.settle()
}

// blows lists the events after which the controller creates children again.
var blows = []struct {
	name   string
	strike func(*story, kindOfJob)
}{
	{"replacement", func(s *story, _ kindOfJob) {
		s.kubelet(func(p *corev1.Pod) {
			endsWith(143, s.clock.Now())(p)
			disruptedBy("EvictionByEvictionAPI")(p)
		}, "pi-worker-0")
	}},
	{"suspend and resume", func(s *story, _ kindOfJob) {
		s.suspend(true)
		require.Empty(s.t, s.pods())
		s.suspend(false)
	}},
	{"restart by backoffLimit", func(s *story, k kindOfJob) {
		if k.led {
			s.kubelet(endsWith(3, s.clock.Now()), "pi-launcher")
		} else {
			s.kubelet(endsWith(3, s.clock.Now()))
		}
		s.settle()
		require.EqualValues(s.t, 2, s.job().Status.Attempt)
	}},
	{"each object deleted by hand", func(s *story, k kindOfJob) {
		list := s.own()
		require.GreaterOrEqual(s.t, len(list), 2)
		for _, o := range list {
			if _, secret := o.(*corev1.Secret); !secret {
				require.NoError(s.t, client.IgnoreNotFound(s.truth.Delete(s.t.Context(), o, client.GracePeriodSeconds(0))), "%T %s", o, o.GetName())
				s.running(k)
			}
		}
	}},
	{"the Secrets deleted by hand, then a pod", func(s *story, k kindOfJob) {
		if k.transport == "network" {
			return // see TestLostKeys
		}
		before := s.pods()
		for _, o := range s.own() {
			if _, secret := o.(*corev1.Secret); secret {
				require.NoError(s.t, s.truth.Delete(s.t.Context(), o))
			}
		}
		s.settle()
		for i, p := range s.pods() {
			require.Equal(s.t, before[i].UID, p.UID, "%s keeps running without its Secret", p.Name)
		}
		require.NoError(s.t, s.truth.Delete(s.t.Context(), &before[len(before)-1], client.GracePeriodSeconds(0)))
	}},
}

// ends makes the job succeed.
func (s *story) ends() {
	s.t.Helper()
	s.kubelet(endsWith(0, s.clock.Now()))
	s.settle()
	require.Equal(s.t, v1alpha1.PhaseSucceeded, s.job().Status.Phase)
}

// TestMadeAgain checks that the controller creates every child of every kind of job again, with the
// rights of install.yaml.
func TestMadeAgain(t *testing.T) {
	for _, k := range kindsOfJob {
		for _, blow := range blows {
			t.Run(k.name+"/"+blow.name, func(t *testing.T) {
				s := aStory(t, 0, false)
				require.NoError(t, s.truth.Create(t.Context(), k.job(s.key)))
				s.running(k)
				blow.strike(s, k)
				s.running(k)
				s.ends()
			})
		}
	}
}

// TestNobodyElsesToken checks that a Secret of another owner, with a name that the job's Secret
// could have, is neither used nor changed.
func TestNobodyElsesToken(t *testing.T) {
	s := aStory(t, 0, false)
	k := kindsOfJob[3]
	theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.key.Namespace, Name: "pi-token"}, Data: map[string][]byte{"token": []byte("a known token")}}
	require.NoError(t, s.truth.Create(t.Context(), theirs))
	require.NoError(t, s.truth.Create(t.Context(), k.job(s.key)))
	s.running(k)
	require.NotEqual(t, "pi-token", s.job().Status.TokenSecret)
	require.NoError(t, s.truth.Get(t.Context(), client.ObjectKeyFromObject(theirs), theirs))
	require.Equal(t, "a known token", string(theirs.Data["token"]))
}

// TestAnErrorThatPersists checks that the third failure in a row becomes the job's reason and an
// event. A successful reconcile removes the reason.
func TestAnErrorThatPersists(t *testing.T) {
	for _, k := range []kindOfJob{kindsOfJob[1], kindsOfJob[3]} {
		t.Run(k.name, func(t *testing.T) {
			s := aStory(t, 0, false)
			require.NoError(t, s.truth.Create(t.Context(), k.job(s.key)))
			said := s.failing(func(o client.Object) bool { _, service := o.(*corev1.Service); return service }, 3)
			status := s.job().Status
			require.Equal(t, reasonFailing, status.Reason)
			require.Contains(t, status.Message, "the server is on fire")
			require.Len(t, said, 1)
			require.Contains(t, said[0], "Warning "+reasonFailing)
			require.Empty(t, s.failing(func(client.Object) bool { return true }, 2), "two failures cause no event")
			s.running(k)
		})
	}
}

// failing reconciles n times with creates that fail, and returns the events.
func (s *story) failing(which func(client.Object) bool, n int) (said []string) {
	recorder := events.NewFakeRecorder(n)
	r := s.reconciler(interceptor.NewClient(s.mine, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if which(o) {
				return errors.New("the server is on fire")
			}
			return c.Create(ctx, o, opts...)
		},
	}))
	r.Events = recorder
	for range n {
		_, err := r.Reconcile(s.t.Context(), reconcile.Request{NamespacedName: s.key})
		require.Error(s.t, err)
	}
	close(recorder.Events)
	for e := range recorder.Events {
		said = append(said, e)
	}
	return said
}
