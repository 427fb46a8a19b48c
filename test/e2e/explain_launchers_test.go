//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/names"
	"github.com/musterhq/muster/exec/wire"
)

// secondLauncher creates another launcher of the same job, under its own name.
func secondLauncher(s *space, j job, name string, change func(*corev1.Pod), command ...string) {
	s.t.Helper()
	j.command = command
	pod := j.launcher(s.t)
	pod.Name = name
	if change != nil {
		change(&pod)
	}
	s.apply(pod)
}

// untilTold runs until somebody makes a file.
var untilTold = []string{"sh", "-c", "until [ -e /tmp/told ]; do sleep 0.5; done"}

// gate holds a launcher back.
func gate(pod *corev1.Pod) {
	pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/later"}}
}

// TestExplainSuperseded: two launchers for one job. The older one comes late
// and is refused, while the newer one's job goes on.
func TestExplainSuperseded(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	j := liveJob(nil)
	s.apply(append(j.access(t), j.worker(t, 0))...)
	secondLauncher(s, j, "older", gate, "true")
	time.Sleep(1100 * time.Millisecond) // creation times are whole seconds
	secondLauncher(s, j, "newer", nil, untilTold...)
	s.ready(time.Minute, "newer")
	s.follow("newer").until(time.Minute, "1/1 ready")
	s.kubectl("patch", "pod", "older", "--type=json", "-p", `[{"op":"remove","path":"/spec/schedulingGates"}]`)
	refused := s.end("older", time.Minute)
	require.Equal(t, names.ExitHopeless, refused.code, refused.log)
	requireBothLaunchers(t, s, refused, "older", "newer")
	require.Contains(t, refused.log, "hint: two launchers run for one job: end one of them, or give them different jobs")
	s.kubectl("exec", "newer", "--", "touch", "/tmp/told")
	end := s.end("newer", time.Minute)
	require.Zero(t, end.code, end.log)
}

// TestExplainDisplaced: a newer launcher takes the workers of one whose command runs.
func TestExplainDisplaced(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	j := liveJob(nil)
	s.apply(append(j.access(t), j.worker(t, 0))...)
	secondLauncher(s, j, "older", nil, "sleep", "300")
	s.ready(time.Minute, "older")
	s.follow("older").until(time.Minute, "1/1 ready")
	secondLauncher(s, j, "newer", nil, untilTold...)
	displaced := s.end("older", time.Minute)
	require.NotZero(t, displaced.code, displaced.log)
	requireBothLaunchers(t, s, displaced, "older", "newer")
	s.kubectl("exec", "newer", "--", "touch", "/tmp/told")
	end := s.end("newer", time.Minute)
	require.Zero(t, end.code, end.log)
}

// requireBothLaunchers: some line names both by their pods' uids, and the worker.
func requireBothLaunchers(t *testing.T, s *space, e ended, launchers ...string) {
	t.Helper()
	for line := range strings.Lines(e.log) {
		if !strings.Contains(line, "live-worker-0") {
			continue
		}
		both := true
		for _, name := range launchers {
			both = both && strings.Contains(line, string(s.pod(name).UID))
		}
		if both {
			return
		}
	}
	require.Fail(t, "no line names the worker and both launchers' uids", e.log)
}

// TestExplainIncompatible: a worker whose agent is built to speak another
// protocol. It is copied into a container that waits for it.
func TestExplainIncompatible(t *testing.T) {
	t.Parallel()
	next := filepath.Join(t.TempDir(), "agent")
	build := exec.Command("go", "build", "-tags", "muster_proto_next", "-ldflags", "-s -w", "-o", next, "../../cmd/agent")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	binary, err := os.ReadFile(next)
	require.NoError(t, err)

	s := newSpace(t)
	row := explainRow{name: "live", worker: func(pod *corev1.Pod) {
		instead("until [ -x /next/agent ]; do sleep 0.2; done; exec /next/agent worker")(pod)
		pod.Spec.Volumes = []corev1.Volume{{Name: "next", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		first(pod).VolumeMounts = []corev1.VolumeMount{{Name: "next", MountPath: "/next"}}
	}}
	j := row.job()
	s.apply(append(j.access(t), j.worker(t, 0))...)
	s.ready(time.Minute, j.workerName(0))
	_, err = kubectlCall{namespace: s.name, stdin: binary}.run("exec", "-i", j.workerName(0), "--", "sh", "-c",
		"cat >/next/part && chmod +x /next/part && mv /next/part /next/agent")
	require.NoError(t, err)
	s.apply(j.launcher(t))
	end := s.end(j.launcherName(), time.Minute)
	require.Equal(t, names.ExitHopeless, end.code, end.log)
	require.Regexp(t, fmt.Sprintf(`(?m)^agent: wait for workers: %s: .*\b%d\b.*\b%d\b`, j.workerName(0), wire.ProtoMax+1, wire.ProtoMax), end.log)
	require.Contains(t, end.log, "hint: use images whose agents are at most two minor releases apart")
}

// TestBreakNodeLost: a node goes silent while the launcher still waits for
// another worker. The node comes back, and the job runs.
func TestBreakNodeLost(t *testing.T) {
	s := newSpace(t)
	row := explainRow{name: "live", workers: 2, created: 1,
		worker: func(pod *corev1.Pod) {
			pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "node2"}
			pod.Spec.TopologySpreadConstraints = nil
		},
		launcher: func(pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "node1"} },
	}
	j := row.job()
	s.apply(row.objects(t)...)
	s.ready(time.Minute, j.launcherName(), j.workerName(0))
	said := s.follow(j.launcherName())
	said.until(time.Minute, "1/2 ready")
	cluster(t, "node", "unplug", "node2")
	plugged := false
	plug := func() {
		if !plugged {
			plugged = true
			cluster(t, "node", "plug", "node2")
		}
	}
	t.Cleanup(plug)
	said.until(2*time.Minute, j.workerName(0)+" NodeLost: node node2 does not answer")
	said.until(5*time.Second, "hint: see kubectl get node node2")
	plug()
	j.edit = nil
	s.apply(j.worker(t, 1))
	end := s.end(j.launcherName(), 2*time.Minute)
	require.Zero(t, end.code, end.log)
	require.Contains(t, end.log, "2/2 ready")
}
