//go:build linux

package main

import (
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/exec/names"
)

// as returns a change that gives a pod a role by the training operator's label, and variables.
func as(role string, env ...string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Labels[names.LabelReplicaType] = role
		for _, kv := range env {
			name, value, _ := strings.Cut(kv, "=")
			pod.Spec.Containers[0].Env = append(pod.Spec.Containers[0].Env, corev1.EnvVar{Name: name, Value: value})
		}
	}
}

// TestClusterGroup checks that roles come from the labels of the pods, the chief decides, and the
// ps is stopped and does not count. A variable in a pod's spec is kept.
func TestClusterGroup(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.start(0, as("Chief"))
	c.start(1, as("PS"))
	c.start(2, as("Worker", "TF_CONFIG=mine"))
	l := c.run("--workers=3", "--framework=tensorflow", "--", "sh", "-c",
		`case $TF_CONFIG in *'"type":"chief"'*) sleep 0.5; echo chief: $TF_CONFIG; exit 0;; esac; echo other on $ON: $TF_CONFIG; trap 'exit 9' TERM; while :; do sleep 0.1; done`)
	require.Zero(t, l.end(t), l.err.String())
	out := l.out.String()
	require.Contains(t, out, `chief: {"cluster":`)
	require.Contains(t, out, `"ps":["10.1.2.2:`)
	require.Contains(t, out, "other on pi-worker-2:\n", "a variable in the pod's spec is left to the container, which does not exist here")
	require.Equal(t, 1, strings.Count(l.err.String(), `TF_CONFIG="mine" is set and kept`))
	require.Equal(t, 3, l.figures(t).Sessions)
	for i := range 3 {
		require.Zero(t, c.exited(i))
	}
	for _, r := range c.api.Requests() {
		require.NotContains(t, r.Query, "TF_CONFIG", "the environment is sent in the stream, not in a URL")
	}
}

// TestClusterGroupKeepsTheImagesVariables checks that a variable of the image is kept like one in
// the pod's spec, with one warning that names both values. The launcher does not request the value
// of a secret.
func TestClusterGroupKeepsTheImagesVariables(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.image = []string{"MASTER_PORT=4711", "MASTER_ADDR=db", "WORLD_SIZE=2", "HF_TOKEN=hunter2"}
	c.start(0)
	c.start(1, as("Worker", "MASTER_ADDR=stale"))
	over := filepath.Join(c.dir, "over")
	l := c.run("--workers=2", "--framework=torch", "--port=25000", "--", "sh", "-c",
		"echo $MASTER_PORT $MASTER_ADDR $WORLD_SIZE; while ! test -e "+over+"; do sleep 0.05; done")
	eventually(t, "both ranks have printed the values", func() bool { return strings.Count(l.out.String(), "4711 db 2\n") == 2 })

	explain := osexec.Command(filepath.Join(bin, "agent"), "env", "--explain")
	explain.Env = l.Env
	told, err := explain.Output()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(over, nil, 0o600))
	require.Zero(t, l.end(t), l.err.String())
	said := l.err.String()
	for _, sentence := range []string{`MASTER_PORT="4711" is set and kept in place of "25000": `, `MASTER_ADDR="db" is set and kept in place of "10.1.2.1": `} {
		require.Equal(t, 1, strings.Count(said, sentence), said)
		require.Equal(t, 1, strings.Count(string(told), "# kept: "+sentence), "%s", told)
	}
	require.NotContains(t, said, `WORLD_SIZE="2"`, "no warning for a variable with our value")
	require.NotContains(t, said+string(told), "hunter2")
}

// TestClusterGroupSurvivesAPIServer checks that processes do not notice when the API server stops
// and the links fail, and that no line is lost.
func TestClusterGroupSurvivesAPIServer(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.start(0)
	c.start(1)
	l := c.run("--workers=2", "--framework=plain", "--", "sh", "-c", `i=0; while [ $i -lt 150 ]; do echo $i; i=$((i+1)); sleep 0.02; done`)
	eventually(t, "output flows", func() bool { return len(l.out.String()) > 50 })
	c.api.Stop()
	c.exec.Cut(true)
	outage()
	c.api.Start()
	require.Zero(t, l.end(t), l.err.String())
	for _, rank := range []string{"0: ", "1: "} {
		n := 0
		for line := range strings.Lines(l.out.String()) {
			if text, ok := strings.CutPrefix(line, rank); ok {
				require.Equal(t, n, number(t, text))
				n++
			}
		}
		require.Equal(t, 150, n)
	}
	require.Equal(t, 2, l.figures(t).Sessions, "no process was started twice")
	require.Positive(t, l.figures(t).Redials)
}

// TestClusterGroupLosesWorker checks that a killed worker ends the run within ten seconds, although
// the other ranks wait forever and ignore TERM. The status of the worker's pod has the reason.
func TestClusterGroupLosesWorker(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.start(0)
	c.start(1)
	l := c.run("--workers=2", "--framework=plain", "--", "sh", "-c", `trap '' TERM; echo here; while kill -0 $PPID 2>/dev/null; do sleep 0.1; done`)
	eventually(t, "both ranks run", func() bool { return strings.Count(l.out.String(), "here") == 2 })
	began := time.Now()
	c.mu.Lock()
	killed := c.workers[podName(1)]
	c.mu.Unlock()
	require.NoError(t, killed.Process.Signal(syscall.SIGKILL))
	pod := c.pod(1)
	pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, PodIP: "10.1.2.2", ContainerStatuses: []corev1.ContainerStatus{{
		Name: "main", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}},
	}}}
	c.api.Set(pod)
	require.Equal(t, names.ExitHopeless, l.end(t))
	require.Less(t, time.Since(began), 20*time.Second) // ten seconds, with a margin for a busy machine
	require.Contains(t, l.err.String(), "agent: worker pi-worker-1 lost: ")
	require.Contains(t, l.err.String(), "OOM")
	require.Len(t, l.figures(t).Lost, 1)
	require.Zero(t, c.exited(0))
}

func number(t *testing.T, line string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	return n
}
