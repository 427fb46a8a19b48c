//go:build linux

package main

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/exec/names"
)

// period returns a change that sets the grace period of a pod.
func period(seconds int64) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.TerminationGracePeriodSeconds = &seconds }
}

// TestClusterGraceOfTheWorkersPod checks that a worker that is told to stop gives its ranks the
// grace period of its own pod, which the launcher has read.
func TestClusterGraceOfTheWorkersPod(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		flags  []string
		want   string
	}{
		"grace period of the pod":         {period(90), nil, "grace=1m25s"},
		"short grace period of the pod":   {period(10), nil, "grace=8s"},
		"unknown grace period of the pod": {func(*corev1.Pod) {}, nil, "grace=25s"},
		"--grace below the pod's":         {period(90), []string{"--grace=20s"}, "grace=20s"},
		"--grace equal to the pod's":      {period(30), []string{"--grace=30s"}, "grace=30s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newCluster(t)
			said := w.start(0, c.change)
			l := w.run(append(c.flags, "--workers=1", "--framework=plain", "--", "sh", "-c", `echo up; exec sleep 4815`)...)
			eventually(t, "the command runs", func() bool { return strings.Contains(l.out.String(), "up") })
			w.signal(0, syscall.SIGTERM)
			eventually(t, "the worker prints the grace", func() bool { return strings.Contains(said.String(), c.want) })
		})
	}
}

// TestClusterGraceOfTheLaunchersPod checks that a launcher that is told to stop prints how long the
// ranks have to save, by the grace period of the launcher's pod.
func TestClusterGraceOfTheLaunchersPod(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.start(0)
	own := c.pod(7)
	period(90)(own)
	own.Name, own.Labels[names.LabelRole] = "pi-launcher", names.RoleLauncher
	c.api.Set(own)
	l := c.runEnv([]string{names.EnvPodName + "=pi-launcher"}, "--workers=1", "--framework=plain", "--", "sh", "-c", `echo up; exec sleep 4816`)
	eventually(t, "the command runs", func() bool { return strings.Contains(l.out.String(), "up") })
	require.NoError(t, l.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 143, l.end(t))
	require.Contains(t, l.err.String(), "agent: SIGTERM: stopping 1 rank, up to 85 s for saving; a second one kills at once\n")
	require.Contains(t, l.err.String(), "agent: rank 0 on pi-worker-0 ended by itself after ")
}

// TestClusterGraceLongerThanThePods checks that nothing is started if --grace is longer than the
// kubelet allows.
func TestClusterGraceLongerThanThePods(t *testing.T) {
	t.Parallel()
	for whose, own := range map[string]int64{"pod pi-worker-0": 300, "the launcher's pod": 30} {
		t.Run(whose, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			c.start(0, period(30))
			pod := c.pod(7)
			period(own)(pod)
			pod.Name, pod.Labels[names.LabelRole] = "pi-launcher", names.RoleLauncher
			c.api.Set(pod)
			l := c.runEnv([]string{names.EnvPodName + "=pi-launcher"}, "--grace=1m", "--workers=1", "--framework=plain", "--", "echo", "up")
			require.Equal(t, names.ExitUsage, l.end(t))
			require.Empty(t, l.out.String())
			require.Contains(t, l.err.String(), "agent: --grace=1m is longer than the 30s that "+whose+" has to end\n"+
				"hint: omit --grace to use 25s, or set terminationGracePeriodSeconds: 65 in the pod's template")
		})
	}
}
