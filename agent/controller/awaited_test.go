//go:build !e2e

package controller

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// aGroup returns a job of three members without a launcher, which may restart so often.
func aGroup(t *testing.T, restarts int32, on string) *failing {
	t.Helper()
	job := aJob(t, "join")
	job.Spec.RestartPolicy = &v1alpha1.RestartPolicy{MaxRestarts: restarts, RestartOn: on}
	return failingOf(job)
}

const net0, net1, net2 = "net-master-0", "net-worker-0", "net-worker-1"

// ends ends members with a code, at a time after now.
func (f *failing) ends(code int32, after time.Duration, pods ...string) {
	for _, name := range pods {
		ended(code, -after, "")(f.pods[name])
	}
}

// TestMemberThatDied checks that a member whose container dies while the others run gets another pod, as
// often as maxRestarts says.
func TestMemberThatDied(t *testing.T) {
	for _, name := range []string{net0, net1} {
		f := aGroup(t, 2, "")
		old := f.pods[name]
		for i := range 2 {
			at := time.Duration(i) * 5 * time.Minute
			f.ends(137, at, name)
			f.look(at + 3*time.Second)
			require.Equal(t, v1alpha1.PhaseRunning, f.job.Status.Phase)
			require.EqualValues(t, i, f.job.Status.Replacements, "the group may be about to end")
			f.settle(at + 16*time.Second)
			require.Equal(t, v1alpha1.PhaseRunning, f.job.Status.Phase, "%s", f.job.Status.Message)
			require.EqualValues(t, i+1, f.job.Status.Replacements)
			require.NotEqual(t, old.UID, f.pods[name].UID)
			old = f.pods[name]
		}
		f.ends(137, 11*time.Minute, name)
		f.settle(11*time.Minute + 16*time.Second)
		require.Equal(t, v1alpha1.PhaseRunning, f.job.Status.Phase)
		f.settle(11*time.Minute + settleFor)
		require.Equal(t, v1alpha1.PhaseFailed, f.job.Status.Phase, "no restart is left")
		require.Equal(t, old.UID, f.pods[name].UID)
	}
}

// TestMembersThatDiedTogether checks that members which die together count once, also if only one is left.
func TestMembersThatDiedTogether(t *testing.T) {
	f := aGroup(t, 1, "")
	f.ends(137, 0, net1)
	f.ends(137, 2*time.Second, net2)
	f.settle(16 * time.Second)
	f.settle(40 * time.Second)
	require.Equal(t, v1alpha1.PhaseRunning, f.job.Status.Phase, "%s", f.job.Status.Message)
	require.EqualValues(t, 1, f.job.Status.Replacements)
}

// TestMemberThatNeverRan checks that a member whose pod is rejected gets another one, also before the group
// has started.
func TestMemberThatNeverRan(t *testing.T) {
	f := aGroup(t, 1, "")
	rejected(0)(f.pods[net1])
	pending(f.pods[net0])
	f.settle(16 * time.Second)
	require.EqualValues(t, 1, f.job.Status.Replacements)
	require.Equal(t, corev1.PodRunning, f.pods[net1].Status.Phase)
}

// TestGroupThatEnded checks that a group which ends, together or one by one, fails as it does without
// restarts, and that none of its pods is replaced.
func TestGroupThatEnded(t *testing.T) {
	all := []string{net0, net1, net2}
	for name, tc := range map[string]struct {
		restarts int32
		on       string
		ends     func(*failing)
		at       time.Duration // when the job has failed
	}{
		"together":                    {3, "", func(f *failing) { f.ends(9, 0, all...) }, time.Second},
		"together, all were killed":   {3, "", func(f *failing) { f.ends(137, 0, all...) }, time.Second},
		"the program failed":          {3, "", func(f *failing) { f.ends(9, 0, net1) }, settleFor},
		"one succeeded, one was lost": {3, "", func(f *failing) { f.ends(137, 0, net1); f.ends(0, 0, net0) }, settleFor},
		"one failed, one was lost":    {3, "", func(f *failing) { f.ends(9, 0, net1); f.ends(137, 0, net0) }, settleFor},
		"no command in the image":     {3, "any", func(f *failing) { unstartable("/opt/train")(f.pods[net1]) }, settleFor},
		"no restarts":                 {0, "", func(f *failing) { f.ends(137, 0, net1) }, settleFor},
		"another class":               {3, "143", func(f *failing) { f.ends(137, 0, net1) }, settleFor},
	} {
		t.Run(name, func(t *testing.T) {
			f := aGroup(t, tc.restarts, tc.on)
			tc.ends(f)
			f.settle(tc.at)
			require.Equal(t, v1alpha1.PhaseFailed, f.job.Status.Phase)
			require.Zero(t, f.job.Status.Replacements)
			require.Zero(t, f.told)
		})
	}
	// A group that needs long to end, so that the first pod was replaced: the job does not hang.
	f := aGroup(t, 3, "")
	f.ends(137, 0, net1)
	f.settle(16 * time.Second)
	f.ends(137, 16*time.Second, net0, net2)
	f.settle(17*time.Second + settleFor)
	require.Equal(t, v1alpha1.PhaseFailed, f.job.Status.Phase)
	require.EqualValues(t, 1, f.job.Status.Replacements)
}

// TestGroupThatSucceeded checks that a job whose group has succeeded ends, also if a member has lost the others or was
// replaced too late to meet them.
func TestGroupThatSucceeded(t *testing.T) {
	for name, tc := range map[string]struct {
		ends func(*failing)
		at   time.Duration // when the job has succeeded; before that, it runs
	}{
		"a member is lost with its node": {func(f *failing) {
			f.ends(0, 0, net0, net1)
			f.ends(143, 0, net2)
			disruptedBy("DeletionByTaintManager")(f.pods[net2])
		}, 0},
		"a member's pod is deleted": {func(f *failing) {
			f.ends(0, 0, net0, net1)
			delete(f.pods, net2)
		}, 0},
		"a member was replaced": {func(f *failing) {
			f.ends(0, 0, net0, net1)
			f.create(net2, now().Add(time.Second))
		}, settleFor},
		"rank 0 was replaced": {func(f *failing) {
			f.ends(0, 0, net1, net2)
			f.create(net0, now().Add(time.Second))
		}, settleFor},
		"a member has lost the others": {func(f *failing) { f.ends(0, 0, net0, net1) }, settleFor},
	} {
		t.Run(name, func(t *testing.T) {
			f := aGroup(t, 1, "")
			tc.ends(f)
			if tc.at > 0 {
				f.settle(tc.at - 10*time.Second)
				require.Equal(t, v1alpha1.PhaseRunning, f.job.Status.Phase)
			}
			f.settle(tc.at)
			require.Equal(t, v1alpha1.PhaseSucceeded, f.job.Status.Phase)
			require.Zero(t, f.told, "no member is replaced")
		})
	}
}

// TestEachPodOfAnImageCounts checks that pods whose command only the image knows are all waited for, because they do not
// end together.
func TestEachPodOfAnImageCounts(t *testing.T) {
	job := aJob(t, "static")
	f := failingOf(job)
	first, second := layout(job)[0].name, layout(job)[1].name
	f.ends(0, 0, first)
	f.settle(time.Hour)
	require.Equal(t, v1alpha1.PhaseRunning, f.job.Status.Phase)
	delete(f.pods, second)
	f.settle(2 * time.Hour)
	require.Equal(t, v1alpha1.PhaseRunning, f.job.Status.Phase)
	require.Contains(t, f.pods, second, "it is created again")
}

// TestFinishedPodOfAnImage checks that a pod whose command only the image knows is not created again if it is removed
// after it has ended with 0, for example with its node. Its work is done.
func TestFinishedPodOfAnImage(t *testing.T) {
	gone := func(f *failing, name string) { delete(f.pods, name) }
	for name, remove := range map[string]func(*failing, string){
		"removed": gone,
		"being deleted, and its node's clock is ahead": func(f *failing, name string) {
			ended(0, -time.Hour, "")(f.pods[name])
			deleted(-time.Minute, time.Hour)(f.pods[name])
		},
		"its node does not answer": func(f *failing, name string) {
			ended(0, 0, "")(f.pods[name])
			deleted(0, 0)(f.pods[name])
			silentNode(f.pods[name])
		},
	} {
		for _, i := range []int{0, 1} {
			t.Run(fmt.Sprint(name, " ", i), func(t *testing.T) {
				f := failingOf(aJob(t, "static"))
				first, second := layout(f.job)[i].name, layout(f.job)[1-i].name
				f.ends(0, 0, first)
				f.settle(time.Second)
				remove(f, first)
				before := len(f.pods)
				f.settle(2 * time.Hour)
				require.Equal(t, before, len(f.pods), "no pod is created")
				require.Zero(t, f.told)
				require.Equal(t, v1alpha1.PhaseRunning, f.job.Status.Phase, "%s", f.job.Status.Message)
				require.Equal(t, "2/2", f.job.Status.Ready)
				require.EqualValues(t, 1, f.job.Status.Roles[0].Succeeded)
				gone(f, second)
				f.settle(3 * time.Hour)
				require.NotNil(t, f.pods[second], "it had not ended")
				f.ends(0, 3*time.Hour, second)
				f.settle(4 * time.Hour)
				require.Equal(t, v1alpha1.PhaseSucceeded, f.job.Status.Phase)
				require.EqualValues(t, 2, f.job.Status.Roles[0].Succeeded)
			})
		}
	}
}

// TestFinishedPodRunsAgain checks that a new attempt starts all pods again, even finished ones. So does a job that is
// resumed.
func TestFinishedPodRunsAgain(t *testing.T) {
	for name, again := range map[string]func(f *failing, second string){
		"a new attempt": func(f *failing, second string) {
			f.job.Spec.RunPolicy = &v1alpha1.RunPolicy{BackoffLimit: 1}
			f.ends(3, time.Hour, second)
			f.settle(time.Hour + settleFor)
			require.EqualValues(t, 2, f.job.Status.Attempt)
		},
		"suspended": func(f *failing, _ string) {
			f.job.Spec.RunPolicy = &v1alpha1.RunPolicy{Suspend: true}
			f.settle(time.Hour)
			require.Empty(t, f.pods)
			f.job.Spec.RunPolicy = nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := failingOf(aJob(t, "static"))
			first, second := layout(f.job)[0].name, layout(f.job)[1].name
			f.ends(0, 0, first)
			f.settle(time.Second)
			delete(f.pods, first)
			f.settle(time.Minute)
			again(f, second)
			f.settle(2 * time.Hour)
			require.Len(t, f.pods, 2)
			require.Equal(t, v1alpha1.PhaseRunning, f.job.Status.Phase)
		})
	}
}

// TestFailedMemberIsLookedAtAgain checks that a job with a failed or succeeded member is judged in time, because members
// that hang cause no event.
func TestFailedMemberIsLookedAtAgain(t *testing.T) {
	job := aJob(t, "join")
	for name, fails := range map[string]func(*corev1.Pod){"failed": ended(9, 10*time.Second, ""), "rejected": rejected(10 * time.Second), "succeeded": ended(0, 10*time.Second, "")} {
		b := aBuilder(job)
		places, surplus := observe(b.slots, []*corev1.Pod{aPod(job, net0), aPod(job, net1, fails), aPod(job, net2)}, b.attempt, now())
		require.Equal(t, settleFor-10*time.Second, plan(job, places, surplus, now()).look, name)
	}
}
