//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/agent/launch/report"
	"github.com/musterhq/muster/agent/retry"
	"github.com/musterhq/muster/exec/names"
)

// replaced gives a replacement pod its own uid and creation time.
func replaced(pod *corev1.Pod) {
	pod.UID = types.UID(string(pod.UID) + "-r1")
	pod.CreationTimestamp = metav1.NewTime(time.Now().Add(time.Minute))
}

// signal sends a signal to the worker of pod i.
func (c *cluster) signal(i int, sig syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	require.NoError(c.t, c.workers[podName(i)].Process.Signal(sig))
}

// replace creates worker i again, with nothing left of the old worker.
func (c *cluster) replace(i int, changes ...func(*corev1.Pod)) {
	c.api.Delete(namespace, podName(i))
	require.NoError(c.t, os.RemoveAll(filepath.Join(c.dir, podName(i))))
	c.start(i, append([]func(*corev1.Pod){replaced}, changes...)...)
}

func (l *launcher) attempts(t *testing.T) []retry.Tried {
	t.Helper()
	text, err := os.ReadFile(l.report)
	require.NoError(t, err)
	var r report.Report
	require.NoError(t, json.Unmarshal(text, &r))
	require.Len(t, ports(r.Attempts), len(r.Attempts), "each attempt has its own ports")
	return r.Attempts
}

func ports(list []retry.Tried) map[int]bool {
	all := map[int]bool{}
	for _, a := range list {
		all[a.Port] = true
	}
	return all
}

// untilAttempt1 blocks in attempt 0, which the test breaks, and succeeds in attempt 1.
const untilAttempt1 = `echo attempt $MUSTER_ATTEMPT on $ON; test $MUSTER_ATTEMPT = 1 || exec sleep 4741`

// TestClusterRestartWithAReplacedPod checks that the launcher waits for the replacement of a
// deleted pod. The replacement has the same rank and another uid, and then takes part. The other
// pods are kept.
func TestClusterRestartWithAReplacedPod(t *testing.T) {
	t.Parallel()
	for name, cmd := range map[string][]string{
		"a group": {"--framework=plain", "--", "sh", "-c", untilAttempt1},
		"a command in the launcher": {"--exit=strict", "--", "sh", "-c",
			`for h in 0 1 2; do agent rsh pi-worker-$h '` + untilAttempt1 + `' & p="$p $!"; done; for one in $p; do wait $one || exit; done`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			for i := range 3 {
				c.start(i)
			}
			l := c.run(append([]string{"--workers=3", "--max-restarts=1"}, cmd...)...)
			eventually(t, "all run", func() bool { return strings.Count(l.out.String(), "attempt 0 on") == 3 })
			c.signal(1, syscall.SIGKILL)
			c.api.Delete(namespace, podName(1))
			eventually(t, "the launcher waits for the replacement", func() bool { return strings.Contains(l.err.String(), "Missing: no pod yet for worker 1") })
			require.Contains(t, l.err.String(), "agent: attempt 2 of 2: worker pi-worker-1 lost: the pod was deleted while the job ran")
			require.NotContains(t, l.out.String(), "attempt 1")
			c.replace(1)
			require.Zero(t, l.end(t), l.err.String())
			for i := range 3 {
				require.Equal(t, 1, strings.Count(l.out.String(), "attempt 1 on "+podName(i)+"\n"), l.out.String())
			}
			all := l.attempts(t)
			require.Len(t, all, 2)
			require.Equal(t, podName(1), all[0].Worker)
			require.True(t, all[0].Counted)
			require.Zero(t, all[1].Code)
			for i := range 3 {
				require.Zero(t, c.exited(i), "the launcher told worker %d that the job has ended", i)
			}
		})
	}
}

// TestClusterRestartUnderAnotherName checks a replacement with another name, while the old pod
// object of a dead node still exists.
func TestClusterRestartUnderAnotherName(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.start(0)
	c.start(1)
	l := c.run("--workers=2", "--max-restarts=1", "--node-lost-after=1s", "--framework=plain", "--", "sh", "-c", untilAttempt1)
	eventually(t, "all run", func() bool { return strings.Count(l.out.String(), "attempt 0 on") == 2 })
	c.signal(1, syscall.SIGKILL)
	c.api.Edit(namespace, podName(1), func(pod *corev1.Pod) {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse,
			LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Minute)), Reason: "NodeStatusUnknown"}}
	})
	eventually(t, "the node counts as lost", func() bool { return strings.Contains(l.err.String(), "agent: attempt 2 of 2: worker pi-worker-1 lost") })
	c.start(5, replaced, func(pod *corev1.Pod) { pod.Labels[names.LabelIndex] = "1" })
	require.Zero(t, l.end(t), l.err.String())
	require.Contains(t, l.out.String(), "1: attempt 1 on "+podName(5)+"\n", "the replacement has the rank of the old pod")
	require.Zero(t, c.exited(5))
}

// TestClusterRestartWithARestartedContainer checks that a container that was restarted in its pod
// is another worker.
func TestClusterRestartWithARestartedContainer(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.start(0)
	c.start(1)
	l := c.run("--workers=2", "--max-restarts=1", "--framework=plain", "--", "sh", "-c", untilAttempt1)
	eventually(t, "all run", func() bool { return strings.Count(l.out.String(), "attempt 0 on") == 2 })
	c.signal(0, syscall.SIGKILL)
	c.exited(0)
	require.NoError(t, os.RemoveAll(filepath.Join(c.dir, podName(0))))
	c.start(0, func(pod *corev1.Pod) {})
	c.api.Edit(namespace, podName(0), func(pod *corev1.Pod) {
		s := &pod.Status.ContainerStatuses[0]
		s.RestartCount, s.ContainerID = 1, "containerd://second"
	})
	require.Zero(t, l.end(t), l.err.String())
	require.Contains(t, l.out.String(), "0: attempt 1 on "+podName(0)+"\n")
}

// TestClusterRestartAfterADrain checks that the ranks may save their work, no restart is used up,
// and the run continues with the replacement. The deleted pod is not used again.
func TestClusterRestartAfterADrain(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.start(0)
	c.start(1)
	l := c.run("--workers=2", "--max-restarts=1", "--framework=plain", "--", "sh", "-c",
		`echo attempt $MUSTER_ATTEMPT on $ON; test $MUSTER_ATTEMPT = 0 || exit 0; trap 'sleep 1; echo saved on $ON; exit 0' TERM; while :; do sleep 0.1; done`)
	eventually(t, "all run", func() bool { return strings.Count(l.out.String(), "attempt 0 on") == 2 })
	c.api.Edit(namespace, podName(1), func(pod *corev1.Pod) {
		now := metav1.Now()
		pod.DeletionTimestamp = &now
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
			Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting"})
	})
	c.signal(1, syscall.SIGTERM)
	require.Equal(t, 143, c.exited(1))
	c.replace(1)
	require.Zero(t, l.end(t), l.err.String())
	for i := range 2 {
		require.Contains(t, l.out.String(), fmt.Sprintf("%d: saved on %s\n", i, podName(i)), "all ranks save, including those on other workers")
		require.Contains(t, l.out.String(), fmt.Sprintf("%d: attempt 1 on %s\n", i, podName(i)))
	}
	require.Contains(t, l.err.String(), "this does not count as a restart")
	all := l.attempts(t)
	require.Len(t, all, 2)
	require.False(t, all[0].Counted)
}

// TestClusterRestartWhileARankSaves checks a drained rank that saves slowly, while a peer fails
// because the rank has left the collective. The drain counts as the cause, and nothing interrupts
// the saving.
func TestClusterRestartWhileARankSaves(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.start(0)
	c.start(1)
	// A second TERM would interrupt a rank that saves.
	l := c.run("--workers=2", "--max-restarts=1", "--grace=30s", "--framework=plain", "--", "bash", "-c",
		`echo attempt $MUSTER_ATTEMPT on $ON; test $MUSTER_ATTEMPT = 0 || exit 0
		until [ -e "$0/left" -a $RANK = 0 ]; do
			trap 'trap "echo interrupted; exit 3" TERM; touch "$0/left"; mkfifo "$0/f"; exec 9<>"$0/f"; read -t 6 -u 9; echo saved on $ON; exit 0' TERM
			while [ $RANK = 1 ]; do read -t 0.1 -u 8; done 8<> <(:)
			sleep 0.1
		done; exit 1`, c.dir)
	eventually(t, "all run", func() bool { return strings.Count(l.out.String(), "attempt 0 on") == 2 })
	c.api.Edit(namespace, podName(1), func(pod *corev1.Pod) {
		now := metav1.Now()
		pod.DeletionTimestamp = &now
	})
	c.signal(1, syscall.SIGTERM)
	eventually(t, "the drained rank has saved", func() bool { return strings.Contains(l.out.String(), "1: saved on "+podName(1)+"\n") })
	require.Equal(t, 143, c.exited(1))
	c.replace(1)
	require.Zero(t, l.end(t), l.err.String())
	all := l.attempts(t)
	require.Len(t, all, 2)
	require.False(t, all[0].Counted)
	require.Contains(t, all[0].Why, "worker pi-worker-1 was told to stop from outside: it is being deleted")
}

// TestClusterRestartAndMemory checks that a kill for the container's memory is permanent unless
// --restart-on lists it.
func TestClusterRestartAndMemory(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.start(0)
	c.start(1)
	l := c.run("--workers=2", "--max-restarts=3", "--framework=plain", "--", "sh", "-c", "echo runs; exec sleep 4742")
	eventually(t, "both run", func() bool { return strings.Count(l.out.String(), "runs") == 2 })
	c.signal(1, syscall.SIGKILL)
	c.api.Edit(namespace, podName(1), func(pod *corev1.Pod) {
		s := &pod.Status.ContainerStatuses[0]
		s.RestartCount, s.ContainerID = 1, "containerd://second"
		s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}
	})
	require.Equal(t, names.ExitHopeless, l.end(t), l.err.String())
	require.Contains(t, l.err.String(), "agent: no restart: a process ran out of memory (oom), which is permanent")
	require.Contains(t, l.err.String(), "hint: --restart-on=+oom adds it")
	require.Len(t, l.attempts(t), 1)
}

// TestClusterRestartGivesUp checks that a stop during the wait for a replacement takes effect at
// once, and the existing workers are told. If no replacement arrives, the run ends at --timeout.
func TestClusterRestartGivesUp(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		timeout string
		told    bool
		code    int
		says    string
	}{
		"told to stop":            {"10m", true, 143, "told to stop by SIGTERM while waiting for workers"},
		"the deadline has passed": {"3s", false, names.ExitDeadline, "no pod yet for worker 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			c.start(0)
			c.start(1)
			l := c.run("--workers=2", "--max-restarts=1", "--timeout="+tc.timeout, "--framework=plain", "--", "sh", "-c", untilAttempt1)
			eventually(t, "all run", func() bool { return strings.Count(l.out.String(), "attempt 0 on") == 2 })
			c.signal(1, syscall.SIGKILL)
			c.api.Delete(namespace, podName(1))
			eventually(t, "the launcher waits for the replacement", func() bool { return strings.Contains(l.err.String(), "Missing: no pod yet for worker 1") })
			if tc.told {
				require.NoError(t, l.Process.Signal(syscall.SIGTERM))
			}
			require.Equal(t, tc.code, l.end(t), l.err.String())
			require.Contains(t, l.err.String(), tc.says)
			require.Zero(t, c.exited(0))
			require.Len(t, l.attempts(t), 1)
		})
	}
}
