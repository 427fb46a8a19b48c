//go:build !e2e

package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// badEdits are edits of a running job's templates that the API server accepts and refuse does not.
var badEdits = map[string]func(*v1alpha1.LaunchJob){
	"no such container": func(job *v1alpha1.LaunchJob) { job.Spec.Roles[0].Container = "mian" },
	"our volume": func(job *v1alpha1.LaunchJob) {
		job.Spec.Roles[0].Template.Spec.Volumes = []corev1.Volume{{Name: shmVolume}}
	},
	"no container is left with the name": func(job *v1alpha1.LaunchJob) {
		job.Spec.Roles[0].Container, job.Spec.Roles[0].Template.Spec.Containers[0].Name = "main", "train"
	},
}

// TestBadEditOfRunningJob checks that an edit of a template that cannot be built does not end a running job. Its
// pods go on, the status and one event say what is wrong, and no pod is created until the template is corrected.
func TestBadEditOfRunningJob(t *testing.T) {
	for _, k := range []kindOfJob{kindsOfJob[1], kindsOfJob[3]} {
		for name, change := range badEdits {
			t.Run(k.name+"/"+name, func(t *testing.T) {
				s := aStory(t, 0, false)
				require.NoError(t, s.truth.Create(t.Context(), k.job(s.key)))
				s.running(k)
				before, good := s.pods(), s.job().Spec.DeepCopy()
				s.edit(change)
				recorder := events.NewFakeRecorder(9)
				for range 3 {
					r := s.reconciler(s.m.client())
					r.Events = recorder
					_, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: s.key})
					require.NoError(t, err)
				}
				status := s.job().Status
				require.Equal(t, v1alpha1.PhaseRunning, status.Phase, "%s", status.Message)
				require.Equal(t, reasonRefused, status.Reason)
				require.NotEmpty(t, status.Message)
				require.Nil(t, status.CompletionTime)
				require.Len(t, recorder.Events, 1)
				require.Contains(t, <-recorder.Events, "Warning "+reasonRefused)
				for i, p := range s.pods() {
					require.Equal(t, before[i].UID, p.UID, p.Name)
				}

				gone := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.key.Namespace, Name: "pi-worker-1"}}
				require.NoError(t, s.truth.Delete(t.Context(), gone, client.GracePeriodSeconds(0)))
				s.settle()
				require.Len(t, s.pods(), len(before)-1, "no pod of a bad template")
				require.Equal(t, v1alpha1.PhaseRestarting, s.job().Status.Phase)
				require.Equal(t, reasonRefused, s.job().Status.Reason)

				s.edit(func(job *v1alpha1.LaunchJob) { job.Spec = *good })
				s.running(k)
				require.Empty(t, s.job().Status.Reason)
				s.ends()
			})
		}
	}
}

// TestEndAfterBadEdit checks that a running job with a bad template ends as its launcher does.
func TestEndAfterBadEdit(t *testing.T) {
	s, k := aStory(t, 0, false), kindsOfJob[1]
	require.NoError(t, s.truth.Create(t.Context(), k.job(s.key)))
	s.running(k)
	s.edit(badEdits["no such container"])
	s.kubelet(endsWith(0, s.clock.Now()), "pi-launcher")
	s.settle()
	require.Equal(t, v1alpha1.PhaseSucceeded, s.job().Status.Phase, "%s", s.job().Status.Message)
	s.clock.SetTime(s.clock.Now().Add(time.Minute))
	s.settle()
	require.Len(t, s.pods(), 1, "the workers are deleted")
}

// TestBadEditOfQueuedJob checks that a running job with a bad template still gives its quota back when Kueue evicts
// it. Nothing runs then, so the job is refused.
func TestBadEditOfQueuedJob(t *testing.T) {
	s := queuedStory(t, 0, false)
	queuedJob(s)
	s.settle()
	s.admits("pi")
	s.runsNow()
	s.edit(badEdits["no such container"])
	s.settle()
	require.Equal(t, v1alpha1.PhaseRunning, s.job().Status.Phase, "%s", s.job().Status.Message)
	require.Equal(t, reasonRefused, s.job().Status.Reason)
	s.says("pi", "Evicted True Preempted to make room")
	s.settle()
	s.clock.SetTime(s.clock.Now().Add(time.Minute))
	s.settle()
	require.Empty(t, s.pods())
	require.Equal(t, v1alpha1.PhaseFailed, s.job().Status.Phase)
	require.Equal(t, reasonRefused, s.job().Status.Reason)
}

// TestEditOfContainer checks which container decides for a pod: the one that did when the pod was created. The template
// may name another one by now.
func TestEditOfContainer(t *testing.T) {
	job := aJob(t, "join")
	role := &job.Spec.Roles[0]
	role.Template.Spec.Containers = append(role.Template.Spec.Containers, corev1.Container{Name: "proxy", Image: "i", Command: []string{"proxy"}})
	pod := aPod(job, net0, besideASidecar)
	pod.Status.ContainerStatuses[1].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 7}}
	role.Container = "proxy"
	places, _ := observe(layout(job), []*corev1.Pod{pod}, 1, now())
	require.Equal(t, running, places[0].stage)
}
