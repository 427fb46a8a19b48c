package controller

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// failing holds the pods of a job whose workers fail, and looks at them one moment after another.
type failing struct {
	job  *v1alpha1.LaunchJob
	pods map[string]*corev1.Pod
	made int
	told int // pods that were recorded
}

// aFailing returns a job that runs with so many workers, and may restart so often.
func aFailing(t *testing.T, workers, restarts int32) *failing {
	t.Helper()
	job := aJob(t, "mpi")
	job.Spec.Workers, job.Spec.RestartPolicy.MaxRestarts = &workers, restarts
	return failingOf(job)
}

// failingOf returns a job whose pods run since half an hour.
func failingOf(job *v1alpha1.LaunchJob) *failing {
	f := &failing{job: job, pods: map[string]*corev1.Pod{}}
	f.job.Status.Attempt = 1
	for _, s := range layout(f.job) {
		f.create(s.name, now().Add(-time.Hour))
	}
	return f
}

func (f *failing) create(name string, at time.Time) {
	f.made++
	f.pods[name] = aPod(f.job, name, func(p *corev1.Pod) {
		p.UID, p.CreationTimestamp = types.UID(fmt.Sprint("uid-", f.made)), metav1.NewTime(at)
		if began := &p.Status.ContainerStatuses[0].State.Running.StartedAt; began.Time.Before(at) {
			*began = metav1.NewTime(at)
		}
	})
}

// fails ends workers at a time after now.
func (f *failing) fails(after time.Duration, workers ...int) {
	for _, n := range workers {
		ended(137, -after, "")(f.pods[fmt.Sprint("pi-worker-", n)])
	}
}

// look reconciles at a time after now: it deletes pods and then writes the status, as a Reconciler does.
func (f *failing) look(after time.Duration) {
	b, sc := aBuilder(f.job), scene{now: now().Add(after)}
	var pods []*corev1.Pod
	for _, p := range f.pods {
		pods = append(pods, p)
	}
	var surplus []*corev1.Pod
	sc.places, surplus = observe(b.slots, pods, b.attempt, sc.now)
	if sc.verdict = judgeJob(f.job, sc.places, sc.now); !sc.verdict.over {
		sc.steps = plan(f.job, sc.places, surplus, sc.now)
	}
	f.told += len(sc.steps.record)
	f.job.Status = newStatus(f.job, sc)
	for _, p := range sc.steps.remove {
		delete(f.pods, p.Name)
	}
	for _, c := range sc.steps.create {
		f.create(c.name, sc.now)
	}
}

// settle looks some times from a time after now on, a second apart.
func (f *failing) settle(after time.Duration) {
	for i := range 8 {
		f.look(after + time.Duration(i)*time.Second)
	}
}

// left returns how many workers run.
func (f *failing) left() (n int) {
	for _, p := range f.pods {
		if p.Name != "pi-launcher" && p.Status.Phase == corev1.PodRunning {
			n++
		}
	}
	return n
}

// TestWorkersThatFailTogether checks that all workers that fail together are replaced, and that they count
// once against maxRestarts.
func TestWorkersThatFailTogether(t *testing.T) {
	f := aFailing(t, 4, 1)
	f.fails(0, 0, 1)
	f.fails(time.Second, 2)
	f.fails(20*time.Second, 3)
	f.settle(16 * time.Second)
	f.settle(36 * time.Second)
	require.Equal(t, 4, f.left())
	require.EqualValues(t, 1, f.job.Status.Replacements)

	// A replacement that fails is another failure, however soon.
	f.fails(45*time.Second, 0)
	f.settle(62 * time.Second)
	require.Equal(t, 3, f.left(), "no restart is left")
	require.EqualValues(t, 1, f.job.Status.Replacements)
}

// TestWorkersThatFailOneAfterAnother checks that failures at different times count one by one.
func TestWorkersThatFailOneAfterAnother(t *testing.T) {
	f := aFailing(t, 4, 2)
	f.fails(0, 0)
	f.settle(16 * time.Second)
	f.fails(2*time.Minute, 1)
	f.settle(3 * time.Minute)
	require.EqualValues(t, 2, f.job.Status.Replacements)
	f.fails(4*time.Minute, 2)
	f.settle(5 * time.Minute)
	require.Equal(t, 3, f.left())

	f = aFailing(t, 4, 2) // the controller was away
	f.fails(0, 0)
	f.fails(2*time.Minute, 1)
	f.fails(3*time.Minute, 2)
	f.settle(time.Hour)
	require.EqualValues(t, 2, f.job.Status.Replacements)
	require.Equal(t, 3, f.left())
}

// TestManyWorkersFail checks that each of more pods than the status can hold is recorded once.
func TestManyWorkersFail(t *testing.T) {
	f := aFailing(t, 100, 9)
	for n := range 100 {
		f.fails(0, n)
	}
	f.settle(16 * time.Second)
	require.Equal(t, 100, f.left())
	require.Equal(t, 100, f.told)
	require.EqualValues(t, 1, f.job.Status.Replacements)
	require.Len(t, f.job.Status.Replaced, 64)
}

// TestManyWorkersAreDrained checks the same for pods that take long to end.
func TestManyWorkersAreDrained(t *testing.T) {
	f := aFailing(t, 100, 9)
	for name, p := range f.pods {
		if name != "pi-launcher" {
			deleted(0, time.Minute)(p)
			disruptedBy("EvictionByEvictionAPI")(p)
		}
	}
	f.settle(time.Second)
	require.Equal(t, 64, f.told, "a pod that exists is not recorded again")
	require.Zero(t, f.job.Status.Replacements)
}

// TestReplacementsOfAnAttempt checks that a new attempt of the pods may replace as many workers as the
// first one.
func TestReplacementsOfAnAttempt(t *testing.T) {
	f := aFailing(t, 2, 1)
	f.job.Spec.RunPolicy = &v1alpha1.RunPolicy{BackoffLimit: 1}
	f.fails(0, 0)
	f.settle(16 * time.Second)
	require.EqualValues(t, 1, f.job.Status.Replacements)
	ended(3, -30*time.Second, "")(f.pods["pi-launcher"])
	f.settle(30 * time.Second)
	require.EqualValues(t, 2, f.job.Status.Attempt)
	require.Zero(t, f.job.Status.Replacements)
	require.Equal(t, 2, f.left())
	f.fails(2*time.Minute, 1)
	f.settle(3 * time.Minute)
	require.Equal(t, 2, f.left(), "replaced")
	require.EqualValues(t, 1, f.job.Status.Replacements)
}
