//go:build linux

package main

import (
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// TestClusterTimelineNamesTheSlowWorker checks that the timeline of pods has the phases before the
// link, and names the worker that had no node, with the scheduler's reason.
func TestClusterTimelineNamesTheSlowWorker(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.start(1)
	pod := c.pod(0)
	pod.Spec.NodeName = ""
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/4 nodes are available: 4 Insufficient nvidia.com/gpu.",
	}}}
	c.api.Set(pod)
	events := filepath.Join(c.dir, "events.jsonl")
	l := c.run("--workers=2", "--framework=plain", "--events="+events, "--", "echo", "hi")
	eventually(t, "the launcher prints why it waits", func() bool { return strings.Contains(l.err.String(), "Insufficient nvidia.com/gpu") })
	c.start(0)
	require.Zero(t, l.end(t), l.err.String())
	out, err := osexec.Command(filepath.Join(bin, "agent"), "timeline", events).CombinedOutput()
	require.NoError(t, err, "%s", out)
	text := string(out)
	require.Regexp(t, `(?m)^2 workers, .* s, exit code 0$`, text)
	require.Regexp(t, `(?m)^pi-worker-0 q+`, text)
	require.Regexp(t, `(?m)^q queued .*slowest: pi-worker-0 on node .* Insufficient nvidia.com/gpu`, text)
	require.Regexp(t, `(?m)^pi-worker-1 +[^q ]+=`, text, "it had a node from the start")
	require.NotContains(t, text, "lost")
}
