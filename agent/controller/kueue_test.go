//go:build !e2e

package controller

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/controller/kueue"
	"github.com/musterhq/muster/exec/names"
)

// TestQueuedLife plays a job from the queue through a preemption to its end. TestQueuedLifeKilled has the kills.
func TestQueuedLife(t *testing.T) { queuedLife(t, 0, false) }

// queuedLife returns how many writes the controller has made, and the remaining objects. It kills the controller before
// or after one of its writes, or never if at is 0.
func queuedLife(t *testing.T, at int, after bool) (writes int, ends string) {
	s := queuedStory(t, at, after)
	queuedJob(s)
	s.settle()
	require.Empty(t, s.pods(), "no pod before the admission")
	require.Equal(t, v1alpha1.PhaseWaiting, s.job().Status.Phase)
	require.Nil(t, s.job().Status.StartTime)
	s.says("pi", "QuotaReserved False Pending insufficient quota")
	s.settle()
	require.Equal(t, "GangUnschedulable: Workload pi: insufficient quota", s.job().Status.Reason+": "+s.job().Status.Message)
	s.admits("pi")
	s.runsNow()
	require.Equal(t, "True Started", s.condition("pi", "PodsReady"))
	require.True(t, meta.IsStatusConditionTrue(s.job().Status.Conditions, v1alpha1.Admitted))
	for _, p := range s.pods() {
		require.Equal(t, map[string]string{"pool": "a100"}, p.Spec.NodeSelector)
		require.Contains(t, p.Spec.Tolerations, corev1.Toleration{Key: "gpu", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule})
		require.Equal(t, "pi", p.Annotations["kueue.x-k8s.io/workload"])
	}

	s.says("pi", "Evicted True Preempted Preempted to accommodate a workload")
	s.settle()
	require.Empty(t, s.pods())
	status := s.job().Status
	require.Equal(t, "Preempted: Workload pi: Preempted to accommodate a workload", status.Reason+": "+status.Message)
	require.Equal(t, []int32{2, 1, 0}, []int32{status.Attempt, status.Evictions, status.Replacements})
	require.Equal(t, "False Pending", s.condition("pi", "QuotaReserved"))
	require.Equal(t, "True Preempted", s.condition("pi", "Requeued"))
	require.Equal(t, "False NoReservation", s.condition("pi", "Admitted"))
	require.NotContains(t, s.workload("pi").Object["status"], "admission")

	s.admits("pi")
	s.runsNow()
	s.kubelet(endsWith(0, s.clock.Now()))
	s.settle()
	s.settle()
	require.Equal(t, "True Succeeded", s.condition("pi", "Finished"))
	return s.m.writes, s.remains()
}

// TestNoPodWithoutAdmission checks in every state of a Workload that does not admit the job that no pod is created, and
// that the reason says why.
func TestNoPodWithoutAdmission(t *testing.T) {
	for name, row := range map[string]struct {
		says    []string
		reason  string
		message string
	}{
		"nothing":                 {nil, "GangUnschedulable", "Workload pi: Kueue has not answered yet: if this does not change, check that Kueue runs"},
		"waiting":                 {[]string{"QuotaReserved False Pending no room"}, "GangUnschedulable", "Workload pi: no room"},
		"no queue":                {[]string{"QuotaReserved False Inadmissible LocalQueue gold doesn't exist"}, "QueueUnavailable", "Workload pi: LocalQueue gold doesn't exist: kubectl get localqueues"},
		"quota, no check":         {[]string{"QuotaReserved True QuotaReserved yes", "Admitted False NoChecks no"}, "GangUnschedulable", "Workload pi: it has quota in ClusterQueue , and Kueue is about to admit it"},
		"evicted, still admitted": {[]string{"QuotaReserved True QuotaReserved yes", "Admitted True Admitted yes", "Evicted True NodeFailures n1 failed"}, "Evicted", "Workload pi: n1 failed"},
	} {
		t.Run(name, func(t *testing.T) {
			s := queuedStory(t, 0, false)
			queuedJob(s)
			s.settle()
			s.says("pi", row.says...)
			s.settle()
			require.Empty(t, s.pods())
			require.Equal(t, row.reason, s.job().Status.Reason)
			require.Contains(t, s.job().Status.Message, row.message)
			require.EqualValues(t, 1, s.job().Status.Attempt)
			require.Zero(t, s.job().Status.Evictions)
		})
	}
}

// TestSuspendGivesQuotaBack checks that the Workload of a suspended job is deleted after its pods, and that the job gets
// a new one.
func TestSuspendGivesQuotaBack(t *testing.T) {
	s := queuedStory(t, 0, false)
	queuedJob(s)
	s.settle()
	s.admits("pi")
	s.runsNow()
	s.suspend(true)
	require.Empty(t, s.pods())
	require.Nil(t, s.workload("pi"))
	require.Equal(t, v1alpha1.PhaseSuspended, s.job().Status.Phase)
	s.suspend(false)
	require.Empty(t, s.pods())
	require.NotNil(t, s.workload("pi"))
	s.admits("pi")
	s.runsNow()
	require.EqualValues(t, 1, s.job().Status.Attempt)
}

// TestPartialAdmission checks that an elastic job runs with the workers that Kueue has admitted.
func TestPartialAdmission(t *testing.T) {
	s := queuedStory(t, 0, false)
	queuedJob(s, elastic(nil))
	s.settle()
	s.admits("pi", 2)
	s.runsNow()
	require.Len(t, s.pods(), 3)
	require.Equal(t, "2/2", s.job().Status.Ready)
	require.Equal(t, "FewerWorkers", s.job().Status.Reason)
	require.Contains(t, s.job().Status.Message, "Kueue has admitted 2 of 3 pods of the role worker (partial admission)")
}

func (s *story) scale(n int32) {
	job := s.job()
	job.Spec.Workers, job.Generation = &n, job.Generation+1
	require.NoError(s.t, s.truth.Update(s.t.Context(), job))
	s.settle()
}

// TestScaleWithoutSlices checks that a scaled job keeps the workers that Kueue has admitted, and says what to do.
func TestScaleWithoutSlices(t *testing.T) {
	s := queuedStory(t, 0, false)
	queuedJob(s, elastic(nil))
	s.settle()
	s.admits("pi")
	s.runsNow()
	s.scale(5)
	require.Len(t, s.pods(), 4)
	require.Equal(t, v1alpha1.PhaseRunning, s.job().Status.Phase)
	require.Contains(t, s.job().Status.Message, "Kueue has admitted 3 pods of the role worker, and the job wants 5: suspend the job and resume it, or create it with the annotation kueue.x-k8s.io/elastic-job")
	s.scale(2)
	require.Len(t, s.pods(), 3)
	require.Empty(t, s.job().Status.Message)
	require.Equal(t, "worker 1", s.reclaimed("pi"))
}

// TestSlices scales an elastic job up, through the moment in which neither of its Workloads is admitted, and down.
func TestSlices(t *testing.T) {
	s := queuedStory(t, 0, false)
	queuedJob(s, elastic(map[string]string{"kueue.x-k8s.io/elastic-job": "true"}))
	s.settle()
	require.Equal(t, "pi", s.workload("pi").GetAnnotations()["kueue.x-k8s.io/workload-slice-name"])
	s.admits("pi")
	s.runsNow()
	before := s.pods()
	s.scale(5)
	next := "pi." + fmt.Sprint(s.job().Generation)
	require.Equal(t, "hpc/pi", s.workload(next).GetAnnotations()["kueue.x-k8s.io/workload-slice-replacement-for"])
	require.Len(t, s.pods(), 4)
	require.Contains(t, s.job().Status.Message, "Workload "+next+": Kueue has not answered yet")

	s.says("pi", "Finished True WorkloadSliceReplaced replaced")
	s.settle()
	require.Len(t, s.pods(), 4, "the pods of the first slice stay, and no others are created")
	require.EqualValues(t, 1, s.job().Status.Attempt)
	s.admits(next)
	s.runsNow()
	require.Len(t, s.pods(), 6)
	for i, p := range before {
		require.Equal(t, p.UID, s.pods()[i].UID)
	}
	for _, p := range s.pods() {
		require.Equal(t, "pi", p.Annotations["kueue.x-k8s.io/workload-slice-name"])
	}
	s.scale(2)
	require.Len(t, s.pods(), 3)
	sets, _, err := unstructured.NestedSlice(s.workload(next).Object, "spec", "podSets")
	require.NoError(t, err)
	require.EqualValues(t, 2, sets[1].(map[string]any)["count"])
	s.scale(4)
	s.scale(2)
	require.Nil(t, s.workload("pi."+fmt.Sprint(s.job().Generation-1)), "the slice is not needed any more")
}

// TestPrebuilt checks that a job on a worker cluster of MultiKueue uses the Workload that its label names, and never
// changes its spec.
func TestPrebuilt(t *testing.T) {
	s := queuedStory(t, 0, false)
	queuedJob(s, func(job *v1alpha1.LaunchJob) {
		job.Labels = map[string]string{"kueue.x-k8s.io/prebuilt-workload-name": "made"}
	})
	s.settle()
	require.Equal(t, "WorkloadMissing", s.job().Status.Reason)
	require.Nil(t, s.workload("pi"))
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"queueName": "gold", "podSets": []any{
		map[string]any{"name": "launcher", "count": int64(1)}, map[string]any{"name": "worker", "count": int64(3)}}}, "status": map[string]any{}}}
	u.SetGroupVersionKind(workloadKind)
	u.SetNamespace("hpc")
	u.SetName("made")
	require.NoError(t, s.truth.Create(t.Context(), u))
	s.settle()
	have := s.workload("made")
	require.True(t, metav1.IsControlledBy(have, s.job()))
	require.Equal(t, map[string]string{names.LabelJob: "pi", "kueue.x-k8s.io/job-uid": "u-1"}, have.GetLabels())
	require.Equal(t, u.Object["spec"], have.Object["spec"])
	s.admits("made")
	s.runsNow()
	require.Equal(t, u.Object["spec"], s.workload("made").Object["spec"])
	s.kubelet(endsWith(3, s.clock.Now()))
	s.settle()
	s.kubelet(endsWith(3, s.clock.Now()))
	s.settle()
	s.settle()
	require.Equal(t, v1alpha1.PhaseFailed, s.job().Status.Phase)
	require.Equal(t, "True Failed", s.condition("made", "Finished"))
}

// TestDelegated checks that a job of another cluster has only a Workload here, and that its status is left to MultiKueue
// once Kueue has admitted it.
func TestDelegated(t *testing.T) {
	s := queuedStory(t, 0, false)
	queuedJob(s, func(job *v1alpha1.LaunchJob) { job.Spec.ManagedBy = new(kueue.Manager) })
	s.settle()
	s.says("pi", "QuotaReserved False Inadmissible LocalQueue gold doesn't exist")
	s.settle()
	require.Equal(t, "QueueUnavailable", s.job().Status.Reason)
	s.admits("pi")
	job := s.job()
	job.Status = v1alpha1.LaunchJobStatus{Phase: v1alpha1.PhaseRunning, Ready: "3/3", Attempt: 4}
	require.NoError(t, s.truth.Status().Update(t.Context(), job))
	s.settle()
	require.Equal(t, job.Status, s.job().Status)
	require.Len(t, s.own(), 0, "no pod, no Service, no account")
	s.says("pi", "Evicted True Preempted elsewhere")
	s.settle()
	require.Equal(t, v1alpha1.PhaseWaiting, s.job().Status.Phase)
	require.Equal(t, "False Pending", s.condition("pi", "QuotaReserved"))
	require.EqualValues(t, 4, s.job().Status.Attempt)
	job = s.job()
	job.Spec.RunPolicy.Suspend = true
	require.NoError(t, s.truth.Update(context.WithoutCancel(t.Context()), job))
	s.settle()
	require.Nil(t, s.workload("pi"))
	require.Equal(t, v1alpha1.PhaseSuspended, s.job().Status.Phase)
}

// TestWorkloadOfOthers checks that a Workload of another owner is neither used nor changed.
func TestWorkloadOfOthers(t *testing.T) {
	s := queuedStory(t, 0, false)
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	u.SetGroupVersionKind(workloadKind)
	u.SetNamespace("hpc")
	u.SetName("pi")
	require.NoError(t, s.truth.Create(t.Context(), u))
	queuedJob(s)
	s.settle()
	require.Empty(t, s.pods())
	require.Equal(t, "NameTaken", s.job().Status.Reason)
	require.Equal(t, u.Object["spec"], s.workload("pi").Object["spec"])
}

// TestLostWorkload checks that pods without a Workload are deleted, and that the job is queued again.
func TestLostWorkload(t *testing.T) {
	for name, lose := range map[string]func(*story){
		"deleted":  func(s *story) { require.NoError(s.t, s.truth.Delete(s.t.Context(), s.workload("pi"))) },
		"finished": func(s *story) { s.says("pi", "Finished True OutOfSync by hand") },
	} {
		t.Run(name, func(t *testing.T) {
			s := queuedStory(t, 0, false)
			queuedJob(s)
			s.settle()
			s.admits("pi")
			s.runsNow()
			lose(s)
			s.settle()
			require.Empty(t, s.pods())
			require.Empty(t, s.condition("pi", "QuotaReserved"), "it is a new one")
			require.EqualValues(t, 1, s.job().Status.Evictions)
			s.admits("pi")
			s.runsNow()
		})
	}
}

// TestEvictionsAreNoFailures checks that an evicted job may still be restarted as often as backoffLimit says.
func TestEvictionsAreNoFailures(t *testing.T) {
	s := queuedStory(t, 0, false)
	queuedJob(s) // with backoffLimit 1
	s.settle()
	for range 3 {
		s.admits("pi")
		s.runsNow()
		s.says("pi", "Evicted True Preempted for another")
		s.settle()
	}
	s.admits("pi")
	s.runsNow()
	s.kubelet(endsWith(3, s.clock.Now()), "pi-launcher")
	s.runsNow()
	require.Equal(t, []int32{5, 3}, []int32{s.job().Status.Attempt, s.job().Status.Evictions})
	s.kubelet(endsWith(3, s.clock.Now()), "pi-launcher")
	s.settle()
	require.Equal(t, v1alpha1.PhaseFailed, s.job().Status.Phase)
}

// TestContradiction checks that a job whose template contradicts its admission says so, and gets no pods.
func TestContradiction(t *testing.T) {
	s := queuedStory(t, 0, false)
	queuedJob(s, func(job *v1alpha1.LaunchJob) {
		job.Spec.Roles[0].Template.Spec.NodeSelector = map[string]string{"pool": "v100"}
	})
	s.settle()
	s.admits("pi")
	s.settle()
	require.Empty(t, s.pods())
	require.Equal(t, `Rejected: role worker: nodeSelector pool is "v100" in the template, and Kueue's admission wants "a100": suspend the job and remove it from the template`,
		s.job().Status.Reason+": "+s.job().Status.Message)
}

// TestPriorityOfJob checks which priority a job has in its queue.
func TestPriorityOfJob(t *testing.T) {
	for name, row := range map[string]struct {
		change  func(*v1alpha1.LaunchJob)
		want    int64
		message string
	}{
		"none":             {func(*v1alpha1.LaunchJob) {}, 1, ""},
		"of the gang":      {func(j *v1alpha1.LaunchJob) { j.Spec.Gang.PriorityClassName = "high" }, 9, ""},
		"of a template":    {func(j *v1alpha1.LaunchJob) { j.Spec.Launcher.Template.Spec.PriorityClassName = "high" }, 9, ""},
		"of Kueue":         {func(j *v1alpha1.LaunchJob) { j.Labels = map[string]string{"kueue.x-k8s.io/priority-class": "team"} }, 5, ""},
		"unknown":          {func(j *v1alpha1.LaunchJob) { j.Spec.Gang.PriorityClassName = "x" }, 0, "there is no PriorityClass x"},
		"unknown to Kueue": {func(j *v1alpha1.LaunchJob) { j.Labels = map[string]string{"kueue.x-k8s.io/priority-class": "x"} }, 0, "there is no WorkloadPriorityClass x"},
	} {
		t.Run(name, func(t *testing.T) {
			s := queuedStory(t, 0, false)
			for class, value := range map[string]int32{"high": 9, "usual": 1} {
				require.NoError(t, s.truth.Create(t.Context(), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Value: value, GlobalDefault: class == "usual"}))
			}
			team := &unstructured.Unstructured{Object: map[string]any{"value": int64(5)}}
			team.SetGroupVersionKind(workloadKind.GroupVersion().WithKind("WorkloadPriorityClass"))
			team.SetName("team")
			require.NoError(t, s.truth.Create(t.Context(), team))
			queuedJob(s, row.change)
			s.settle()
			if row.message != "" {
				require.Contains(t, s.job().Status.Message, row.message)
				require.Nil(t, s.workload("pi"))
				return
			}
			value, _, err := unstructured.NestedInt64(s.workload("pi").Object, "spec", "priority")
			require.NoError(t, err)
			require.Equal(t, row.want, value)
		})
	}
}

// TestLabelAlone checks that Kueue's label puts a job without a gang into a queue.
func TestLabelAlone(t *testing.T) {
	s := queuedStory(t, 0, false)
	queuedJob(s, func(job *v1alpha1.LaunchJob) {
		job.Spec.Gang, job.Labels = nil, map[string]string{names.LabelKueueQueue: "silver"}
	})
	s.settle()
	require.Empty(t, s.pods())
	queue, _, err := unstructured.NestedString(s.workload("pi").Object, "spec", "queueName")
	require.NoError(t, err)
	require.Equal(t, "silver", queue)
	s.admits("pi")
	s.runsNow()
}

// TestWithoutKueue checks that a job in a queue waits in a cluster without Kueue.
func TestWithoutKueue(t *testing.T) {
	s := aStory(t, 0, false)
	queuedJob(s)
	s.settle()
	require.Empty(t, s.pods())
	require.Equal(t, "NoGangScheduler", s.job().Status.Reason)
	require.Contains(t, s.job().Status.Message, "this cluster has no Workload of kueue.x-k8s.io")
}
