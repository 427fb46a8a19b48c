//go:build !e2e

package controller

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/controller/gang"
	"github.com/musterhq/muster/exec/names"
)

// label sets the label of a queue, or removes it.
func (s *story) label(queue string) {
	s.t.Helper()
	job := s.job()
	job.Labels = map[string]string{names.LabelKueueQueue: queue}
	if queue == "" {
		job.Labels = nil
	}
	require.NoError(s.t, s.truth.Update(s.t.Context(), job))
	s.settle()
}

func withGang(g *v1alpha1.Gang) func(*v1alpha1.LaunchJob) {
	return func(job *v1alpha1.LaunchJob) { job.Spec.Gang = g }
}

// TestLabelOfRunningJob checks that the label of a queue changes nothing for a job that runs without Kueue, until it is
// suspended and resumed.
func TestLabelOfRunningJob(t *testing.T) {
	for name, row := range map[string]struct {
		gang   *v1alpha1.Gang
		queued bool // after it is resumed
	}{
		"no gang":                       {nil, true},
		"auto, which has chosen none":   {&v1alpha1.Gang{Backend: gang.Auto}, true},
		"none by the user's own choice": {&v1alpha1.Gang{Backend: gang.None}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := queuedStory(t, 0, false)
			queuedJob(s, withGang(row.gang))
			s.runsNow()
			before := s.pods()
			s.label("gold")
			require.Equal(t, before, s.pods())
			require.Nil(t, s.workload("pi"))
			status := s.job().Status
			require.Equal(t, v1alpha1.PhaseRunning, status.Phase)
			require.EqualValues(t, 1, status.Attempt)
			require.Zero(t, status.Evictions)

			s.suspend(true)
			s.suspend(false)
			if !row.queued {
				s.runsNow()
				require.Nil(t, s.workload("pi"))
				return
			}
			require.Empty(t, s.pods())
			s.admits("pi")
			s.runsNow()
		})
	}
}

// TestRemovedLabel checks that a job stays in its queue without the label, and that Kueue gets its quota back.
func TestRemovedLabel(t *testing.T) {
	ends := func(s *story) {
		s.kubelet(endsWith(0, s.clock.Now()))
		s.settle()
		s.settle()
		require.Equal(s.t, "True Succeeded", s.condition("pi", "Finished"))
	}
	for name, goOn := range map[string]func(*story){
		"the job ends": ends,
		"a worker is replaced": func(s *story) {
			before := s.pods()
			s.kubelet(func(p *corev1.Pod) {
				endsWith(143, s.clock.Now())(p)
				disruptedBy("EvictionByEvictionAPI")(p)
			}, "pi-worker-0")
			s.runsNow()
			require.NotEqual(s.t, before[1].UID, s.pods()[1].UID)
			for _, p := range s.pods() {
				require.Equal(s.t, map[string]string{"pool": "a100"}, p.Spec.NodeSelector, p.Name)
			}
			ends(s)
		},
		"the job is evicted": func(s *story) {
			s.says("pi", "Evicted True Preempted for another")
			s.settle()
			require.Empty(s.t, s.pods())
			queue, _, err := unstructured.NestedString(s.workload("pi").Object, "spec", "queueName")
			require.NoError(s.t, err)
			require.Equal(s.t, "gold", queue)
			s.admits("pi")
			s.runsNow()
			ends(s)
		},
		"the job is suspended": func(s *story) {
			s.suspend(true)
			require.Empty(s.t, s.pods())
			require.Nil(s.t, s.workload("pi"))
			s.suspend(false)
			s.runsNow()
			require.Nil(s.t, s.workload("pi"), "it names no queue")
		},
	} {
		for _, backend := range []*v1alpha1.Gang{nil, {Backend: gang.Auto}} {
			t.Run(name, func(t *testing.T) {
				s := queuedStory(t, 0, false)
				queuedJob(s, withGang(backend), func(job *v1alpha1.LaunchJob) {
					job.Labels = map[string]string{names.LabelKueueQueue: "gold"}
				})
				s.settle()
				s.admits("pi")
				s.runsNow()
				before := s.pods()
				s.label("")
				require.Equal(t, before, s.pods())
				goOn(s)
			})
		}
	}
}

// TestRemovedLabelWhileWaiting checks that a job without its label still waits in its queue.
func TestRemovedLabelWhileWaiting(t *testing.T) {
	s := queuedStory(t, 0, false)
	queuedJob(s, withGang(nil), func(job *v1alpha1.LaunchJob) {
		job.Labels = map[string]string{names.LabelKueueQueue: "gold"}
	})
	s.settle()
	s.label("")
	require.Empty(t, s.pods())
	queue, _, err := unstructured.NestedString(s.workload("pi").Object, "spec", "queueName")
	require.NoError(t, err)
	require.Equal(t, "gold", queue)
	s.admits("pi")
	s.runsNow()
}

// TestChoiceOfOlderController checks that a job which runs in a queue keeps it, if an older controller did not write
// the choice by its label into the status.
func TestChoiceOfOlderController(t *testing.T) {
	s := queuedStory(t, 0, false)
	queuedJob(s, withGang(nil), func(job *v1alpha1.LaunchJob) {
		job.Labels = map[string]string{names.LabelKueueQueue: "gold"}
	})
	s.settle()
	s.admits("pi")
	s.runsNow()
	before, job := s.pods(), s.job()
	job.Status.Gang = ""
	require.NoError(t, s.truth.Status().Update(t.Context(), job))
	s.settle()
	require.Equal(t, before, s.pods())
	require.Equal(t, gang.Kueue, s.job().Status.Gang)
	s.label("")
	require.Equal(t, before, s.pods())
	s.kubelet(endsWith(0, s.clock.Now()))
	s.settle()
	s.settle()
	require.Equal(t, "True Succeeded", s.condition("pi", "Finished"))
}

// TestPrebuiltOfRunningJob checks that the label of a Workload changes nothing for a job that has a Workload of its own,
// until the job is suspended and resumed.
func TestPrebuiltOfRunningJob(t *testing.T) {
	s := queuedStory(t, 0, false)
	queuedJob(s)
	s.settle()
	s.admits("pi")
	s.runsNow()
	before, job := s.pods(), s.job()
	job.Labels = map[string]string{"kueue.x-k8s.io/prebuilt-workload-name": "made"}
	require.NoError(t, s.truth.Update(t.Context(), job))
	s.settle()
	require.Equal(t, before, s.pods())
	require.Equal(t, v1alpha1.PhaseRunning, s.job().Status.Phase)
	require.Zero(t, s.job().Status.Evictions)
	s.suspend(true)
	require.Nil(t, s.workload("pi"), "its quota is given back")
	s.suspend(false)
	require.Equal(t, "WorkloadMissing", s.job().Status.Reason)
}

// TestLabelOfSuspendedJob checks that a suspended job of another gang is not refused while it has the label of a queue, and
// that it runs after the label is removed.
func TestLabelOfSuspendedJob(t *testing.T) {
	s := queuedStory(t, 0, false)
	queuedJob(s, withGang(nil), func(job *v1alpha1.LaunchJob) {
		job.Spec.Roles[0].Template.Spec.SchedulerName = gang.Volcano
	})
	s.runsNow()
	s.suspend(true)
	s.label("gold")
	status := s.job().Status
	require.Equal(t, v1alpha1.PhaseSuspended, status.Phase, "%s", status.Message)
	s.label("")
	s.suspend(false)
	s.runsNow()
}

// TestSuspendedJobIsCorrected checks that a job is not refused while it is suspended. Its status says why it would be, and
// its quota is given back. It runs after it was corrected.
func TestSuspendedJobIsCorrected(t *testing.T) {
	for name, led := range map[string]bool{"launcher": true, "members": false} {
		t.Run(name, func(t *testing.T) {
			s := queuedStory(t, 0, false)
			queuedJob(s, func(job *v1alpha1.LaunchJob) {
				job.Spec.Success = "worker:0"
				if !led {
					job.Spec.Launcher = nil
				}
			})
			s.settle()
			s.admits("pi")
			s.runsNow()
			write := func(container string) {
				job := s.job()
				job.Spec.RunPolicy.Suspend, job.Spec.Roles[0].Container = true, container
				require.NoError(t, s.truth.Update(t.Context(), job))
				s.settle()
				require.Equal(t, v1alpha1.PhaseSuspended, s.job().Status.Phase)
			}
			write("mian")
			require.Empty(t, s.pods())
			require.Nil(t, s.workload("pi"))
			require.Equal(t, "runPolicy.suspend is true, and the job would be refused: the template of worker has no container mian: set container to one of its containers",
				s.job().Status.Message)
			write("main")
			require.Equal(t, "runPolicy.suspend is true", s.job().Status.Message)
			s.suspend(false)
			s.admits("pi")
			s.runsNow()
		})
	}
}

// TestLabelIsNoSecondGang checks that a job in a gang is refused with the label of a queue, but not when it gets the
// label after its start.
func TestLabelIsNoSecondGang(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.LaunchJob){
		"by its spec": withGang(&v1alpha1.Gang{Backend: gang.Volcano}),
		"by its templates": func(job *v1alpha1.LaunchJob) {
			job.Spec.Gang = nil
			job.Spec.Roles[0].Template.Spec = *job.Spec.Roles[0].Template.Spec.DeepCopy()
			job.Spec.Roles[0].Template.Spec.SchedulerName = gang.Volcano
		},
	} {
		t.Run(name, func(t *testing.T) {
			job := aJob(t, "mpi")
			change(job)
			job.Labels = map[string]string{names.LabelKueueQueue: "gold"}
			require.ErrorContains(t, refuse(aBuilder(job)), "two gang schedulers")
			job.Status.StartTime = &metav1.Time{}
			require.NoError(t, refuse(aBuilder(job)))
		})
	}
}
