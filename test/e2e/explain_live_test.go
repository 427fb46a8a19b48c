//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/test/suite/program"
)

// stubborn makes a container that is slow to end, and is not a worker yet. Its launcher keeps waiting while
// something happens to the pod.
func stubborn(pod *corev1.Pod) {
	instead(`trap "" TERM; while :; do sleep 1; done`)(pod)
	grace := int64(60)
	pod.Spec.TerminationGracePeriodSeconds = &grace
}

// liveJob returns a job of one worker whose launcher prints what it waits for.
func liveJob(worker func(*corev1.Pod)) job {
	return explainRow{name: "live", worker: worker}.job()
}

// waiting starts the job and returns when its launcher waits and its worker's container runs.
func waiting(t *testing.T, j job) (*space, *lines) {
	t.Helper()
	s := newSpace(t)
	s.start(j)
	s.ready(2*time.Minute, j.launcherName(), j.workerName(0))
	return s, s.follow(j.launcherName())
}

// recover replaces the worker with a correct one. The launcher, which waits for that, exits with 0.
func (s *space) recover(j job) {
	s.t.Helper()
	s.kubectl("delete", "pod", j.workerName(0), "--force", "--grace-period=0", "--ignore-not-found")
	j.edit = nil
	s.apply(j.worker(s.t, 0))
	end := s.end(j.launcherName(), 2*time.Minute)
	require.Zero(s.t, end.code, end.log)
	require.Contains(s.t, end.log, "1/1 ready")
}

// TestExplainEviction uses the eviction API, as kubectl drain does.
func TestExplainEviction(t *testing.T) {
	t.Parallel()
	j := liveJob(stubborn)
	s, said := waiting(t, j)
	_, err := kubectlCall{namespace: s.name, stdin: []byte(`{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "` + j.workerName(0) + `"}}`)}.
		run("create", "--raw", "/api/v1/namespaces/"+s.name+"/pods/"+j.workerName(0)+"/eviction", "-f", "-")
	require.NoError(t, err)
	said.until(30*time.Second, j.workerName(0)+" Evicted: Eviction API: evicting")
	said.until(5*time.Second, "hint: its node is being drained, or the eviction API was called; its owner creates a new pod, otherwise create it again")
	s.recover(j)
}

// TestExplainTerminating deletes the pod.
func TestExplainTerminating(t *testing.T) {
	t.Parallel()
	j := liveJob(stubborn)
	s, said := waiting(t, j)
	s.kubectl("delete", "pod", j.workerName(0), "--wait=false")
	said.until(30*time.Second, j.workerName(0)+" Terminating: being deleted")
	said.until(5*time.Second, "hint: a pod without an owner is not replaced: create it again")
	s.recover(j)
}

// TestExplainFinalizer deletes a pod that a controller's finalizer keeps.
func TestExplainFinalizer(t *testing.T) {
	t.Parallel()
	j := liveJob(func(pod *corev1.Pod) {
		instead("sleep 300")(pod)
		pod.Finalizers = []string{"example.com/accounting"}
	})
	s, said := waiting(t, j)
	free := func() {
		_, err := s.try(time.Minute, "patch", "pod", j.workerName(0), "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
		require.NoError(t, err)
	}
	held := true
	t.Cleanup(func() {
		if held {
			free() // otherwise the namespace stays forever
		}
	})
	s.kubectl("delete", "pod", j.workerName(0), "--grace-period=1", "--wait=false")
	said.until(time.Minute, j.workerName(0)+" Terminating: held by finalizer example.com/accounting")
	free()
	held = false
	s.recover(j)
}

// TestExplainPreemption creates a pod of higher priority, which takes the only seat.
func TestExplainPreemption(t *testing.T) {
	t.Parallel()
	const seat = "example.com/seat"
	node := seats(t, 1)
	taken := func(pod *corev1.Pod) {
		stubborn(pod)
		pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: node}
		first(pod).Resources.Limits = corev1.ResourceList{seat: resource.MustParse("1")}
	}
	j := liveJob(taken)
	s, said := waiting(t, j)
	s.apply(map[string]any{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 1000,
		"metadata": map[string]any{"name": s.name}})
	t.Cleanup(func() {
		_, err := s.try(time.Minute, "delete", "priorityclass", s.name)
		require.NoError(t, err)
	})
	guest := j.worker(t, 0)
	guest.Name, guest.Labels, guest.Spec.PriorityClassName = "guest", nil, s.name
	s.apply(guest)
	said.until(30*time.Second, j.workerName(0)+" Preempted: default-scheduler: preempting to accommodate a higher priority pod")
	said.until(5*time.Second, "hint: a pod of higher priority took its place; give the job a higher priorityClassName, or wait for free resources")
	s.recover(j)
}

// seats gives the first node n of a resource that no other test uses.
func seats(t *testing.T, n int) (node string) {
	t.Helper()
	cluster := kubectlCall{namespace: "default"}
	node, err := cluster.run("get", "nodes", "-o", "jsonpath={.items[0].metadata.name}")
	require.NoError(t, err)
	patch := func(change string) {
		_, err := cluster.run("patch", "node", node, "--subresource=status", "--type=merge", "-p",
			`{"status":{"capacity":{"example.com/seat":`+change+`},"allocatable":{"example.com/seat":`+change+`}}}`)
		require.NoError(t, err)
	}
	patch(`"` + resource.NewQuantity(int64(n), resource.DecimalSI).String() + `"`)
	t.Cleanup(func() { patch("null") })
	return node
}

// TestExplainNotFound uses a registry that answers, but has no such image.
func TestExplainNotFound(t *testing.T) {
	t.Parallel()
	s := newSpaceWith(t, "privileged")
	registry := job{name: "registry", image: "openmpi", workers: 1, slots: 1, edit: func(pod *corev1.Pod) {
		instead("exec python3 -m http.server --bind 127.0.0.1 5757")(pod)
		pod.Spec.HostNetwork = true
	}}
	s.apply(registry.worker(t, 0))
	s.ready(time.Minute, registry.workerName(0))
	row := explainRow{
		name: "notfound", code: names.ExitHopeless,
		worker: func(pod *corev1.Pod) {
			pod.Spec.NodeName, pod.Spec.TopologySpreadConstraints = s.pod(registry.workerName(0)).Spec.NodeName, nil
			first(pod).Image = "localhost:5757/muster-none:1"
		},
		says: []string{
			`POD ImagePullBackOff: localhost:5757/muster-none:1 not found`,
			`^agent: wait for workers: POD: the image localhost:5757/muster-none:1 of container worker cannot be pulled: not found$`,
			`^hint: correct the name or tag of the image, or push it: localhost:5757/muster-none:1$`,
		},
	}
	explain(t, s, []explainRow{row})
}

// secondLauncher creates another launcher of the same job, with its own name.
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

// untilTold is a command that runs until a file exists.
var untilTold = []string{"sh", "-c", "until [ -e /tmp/told ]; do sleep 0.5; done"}

// gate keeps a launcher from being scheduled.
func gate(pod *corev1.Pod) {
	pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/later"}}
}

// TestExplainSuperseded starts two launchers for one job. The older one is late and is refused, while the newer
// one's job continues.
func TestExplainSuperseded(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	j := liveJob(nil)
	s.apply(append(j.access(t), j.worker(t, 0))...)
	secondLauncher(s, j, "older", gate, "true")
	time.Sleep(1100 * time.Millisecond) // creation times have whole seconds
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

// TestExplainDisplaced starts a newer launcher, which takes the workers of a launcher whose command runs.
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

// requireBothLaunchers requires a line that names both launchers by their pods' uids, and the worker.
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

// TestExplainIncompatible runs a worker whose agent is built with another protocol. The agent is copied into a
// container that waits for it.
func TestExplainIncompatible(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, program.Own(dir, []string{"-tags=grpcnotrace,muster_proto_next"}, "agent"))
	binary, err := os.ReadFile(filepath.Join(dir, "agent"))
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

// TestBreakNodeLost makes a node silent while the launcher still waits for another worker. The node returns, and
// the job runs.
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
