package controller

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/settings"
)

// TestFirstFailureOfMembers checks that in a job without a launcher, firstFailure also has the last
// output of the process that failed first, in any order of the members' ends. If a member is lost,
// the loss is the cause, not "told to stop".
func TestFirstFailureOfMembers(t *testing.T) {
	const trace = "step 7\nTraceback (most recent call last):\nValueError: no data"
	job := aJob(t, "join")
	slots := aBuilder(job).slots
	first, second := slots[0].name, slots[1].name
	rest := func(pods ...*corev1.Pod) []*corev1.Pod {
		for _, s := range slots[2:] {
			pods = append(pods, aPod(job, s.name, ended(9, time.Second, "agent: rank 1 on "+second+" exited with 9")))
		}
		return pods
	}
	evicted := func(p *corev1.Pod) {
		ended(143, time.Second, "agent: rank 1 on "+second+" was told to stop from outside")(p)
		p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted", "The node was low on resource: memory. Threshold quantity: 100Mi, available: 90Mi. "
	}
	for name, tc := range map[string]struct {
		pods  []*corev1.Pod
		first v1alpha1.FirstFailure
		said  string
	}{
		"the failed process reports it": {rest(aPod(job, first, ended(9, 2*time.Second, "agent: rank 1 on "+second+" exited with 9; stopping the rest")),
			aPod(job, second, ended(9, time.Second, trace+"\nagent: rank 1 on "+second+" exited with 9"))),
			v1alpha1.FirstFailure{Rank: new(int32(1)), Pod: second, ExitCode: 9, Message: trace + "\nagent: rank 1 on " + second + " exited with 9"},
			"rank 1 on " + second + " exited with 9; stopping the rest"},
		"the agent reports nothing": {rest(aPod(job, first, ended(0, 2*time.Second, "")), aPod(job, second, ended(1, 3*time.Second, trace))),
			v1alpha1.FirstFailure{Pod: second, ExitCode: 1, Message: trace}, "ValueError: no data"},
		"an eviction": {rest(aPod(job, first, ended(143, time.Minute, "agent: rank 1 on "+second+" was told to stop from outside")), aPod(job, second, evicted)),
			v1alpha1.FirstFailure{Rank: new(int32(1)), Pod: second, ExitCode: 143, Message: "agent: rank 1 on " + second + " was told to stop from outside"},
			"rank 1 on " + second + " was told to stop from outside; pod " + second + " was lost: Evicted: The node was low on resource: memory"},
	} {
		t.Run(name, func(t *testing.T) {
			places, _ := observe(slots, tc.pods, 1, now())
			v := judgeJob(job, places, now())
			require.Equal(t, &tc.first, v.first)
			require.Equal(t, tc.said, v.message)
		})
	}
}

// TestGraceOfMembers checks that a member's pod has a variable with the grace of its processes,
// because a member does not use the API server. A value in the user's template takes precedence.
func TestGraceOfMembers(t *testing.T) {
	grace := func(job string, change func(*corev1.PodSpec)) (values []string) {
		b := aBuilder(aJob(t, job))
		for _, s := range b.slots {
			s.template = s.template.DeepCopy()
			change(&s.template.Spec)
			pod := b.pod(s, s.name)
			for _, v := range s.own(&pod.Spec).Env {
				if v.Name == settings.Variable("grace") {
					values = append(values, v.Value)
				}
			}
		}
		return values
	}
	long := func(s *corev1.PodSpec) { s.TerminationGracePeriodSeconds = new(int64(600)) }
	n := len(aBuilder(aJob(t, "join")).slots)
	require.Equal(t, slices.Repeat([]string{"9m55s"}, n), grace("join", long))
	require.Equal(t, slices.Repeat([]string{"7s"}, n), grace("join", func(s *corev1.PodSpec) {
		long(s)
		for i := range s.Containers {
			s.Containers[i].Env = append(s.Containers[i].Env, corev1.EnvVar{Name: settings.Variable("grace"), Value: "7s"})
		}
	}))
	require.Empty(t, grace("join", func(*corev1.PodSpec) {}), "without a grace period in the pod, the agent's default applies")
	require.Empty(t, grace("mpi", long), "no variable with a launcher, which reads the pods")
}
