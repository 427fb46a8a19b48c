//go:build !race

package controller

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"
)

// These tests start no goroutine. They repeat what TestMadeAgain does once for each event under the race
// detector.

// TestKilledBetweenAnyTwoWrites kills the controller at each of its writes, once before and once
// after the API server has made it. The objects that remain are the same in all cases.
func TestKilledBetweenAnyTwoWrites(t *testing.T) {
	tell := func(t *testing.T, at int, after bool) (string, int) {
		s := &story{t: t, clock: clocktesting.NewFakePassiveClock(time.Now())}
		s.truth, s.mine, s.key = newWorld(t)
		s.m = &mortal{WithWatch: s.mine, at: at, after: after}
		job := aJob(t, "mpi")
		job.Namespace, job.Name, job.UID = s.key.Namespace, s.key.Name, ""
		for _, spec := range []*corev1.PodSpec{&job.Spec.Launcher.Template.Spec, &job.Spec.Roles[0].Template.Spec} {
			spec.SchedulerName, spec.HostNetwork = "nobody", false
			spec.Containers = spec.Containers[len(spec.Containers)-1:]
		}
		left := s.live(job)
		return left, s.m.writes
	}
	want, writes := tell(t, 0, false)
	require.Contains(t, want, "phase=Succeeded replacements=1 attempt=1")
	require.Contains(t, want, "[*v1.Pod pi-launcher *v1.Role pi-launcher *v1.RoleBinding pi-launcher *v1.Service pi *v1.ServiceAccount pi-launcher pi-worker-1 EvictionByEvictionAPI pi-worker-0 ended with 137]")
	require.Greater(t, writes, 15)
	for at := 1; at <= writes; at++ {
		for _, after := range []bool{false, true} {
			got, _ := tell(t, at, after)
			require.Equal(t, want, got, "killed at write %d, after it: %v", at, after)
		}
	}
}

// TestMadeAgainWhenKilled kills the controller at each of its writes during all these events,
// before and after the API server has made the write.
func TestMadeAgainWhenKilled(t *testing.T) {
	for _, k := range kindsOfJob {
		t.Run(k.name, func(t *testing.T) {
			live := func(t *testing.T, at int, after bool) (string, int) {
				s := aStory(t, at, after)
				require.NoError(t, s.truth.Create(t.Context(), k.job(s.key)))
				s.running(k)
				for _, blow := range blows {
					if blow.name != "each object deleted by hand" {
						blow.strike(s, k)
						s.running(k)
					}
				}
				s.ends()
				return s.remains(), s.m.writes
			}
			want, writes := live(t, 0, false)
			require.Greater(t, writes, 10)
			every := killEvery
			if os.Getenv("MUSTER_KILL_EVERY") != "" {
				every, _ = strconv.Atoi(os.Getenv("MUSTER_KILL_EVERY"))
			}
			for at := 1; at <= writes; at += every {
				for _, after := range []bool{false, true} {
					t.Run(fmt.Sprintf("write %d, killed after it: %v", at, after), func(t *testing.T) {
						got, _ := live(t, at, after)
						require.Equal(t, want, got)
					})
				}
			}
		})
	}
}
