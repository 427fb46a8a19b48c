//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/exec/names"
)

// take ends the worker of pod i like a kubelet, and removes its pod.
func (c *cluster) take(i int) {
	c.terminate(i)
	c.mu.Lock()
	cmd := c.workers[podName(i)]
	c.mu.Unlock()
	_ = cmd.Process.Signal(syscall.SIGTERM)
	c.exited(i)
	c.api.Delete(namespace, podName(i))
	require.NoError(c.t, os.RemoveAll(filepath.Join(c.dir, podName(i))))
}

// terminate starts the deletion of a pod.
func (c *cluster) terminate(i int) {
	require.True(c.t, c.api.Edit(namespace, podName(i), func(pod *corev1.Pod) {
		pod.DeletionTimestamp = &metav1.Time{Time: time.Now().Add(30 * time.Second)}
	}))
}

// recreate replaces pod i with a pod that has another uid.
func (c *cluster) recreate(i, time int) {
	c.start(i, func(pod *corev1.Pod) { pod.UID = types.UID(fmt.Sprintf("uid-%d-%d", i, time)) })
}

// file returns a path in the cluster's directory, where tests and their commands signal each other
// by files.
func (c *cluster) file(name string) string { return filepath.Join(c.dir, name) }

func (c *cluster) touch(name string) {
	require.NoError(c.t, os.WriteFile(c.file(name), nil, 0o600))
}

// follows waits until the launcher's command has printed a line that matches.
func (l *launcher) follows(t *testing.T, line string) {
	t.Helper()
	wanted := regexp.MustCompile(`(?m)^` + line + `$`)
	if !assert.Eventually(t, func() bool { return wanted.MatchString(l.out.String()) }, 30*time.Second, 20*time.Millisecond) {
		t.Fatalf("no line %s:\n%s\n%s", line, l.out.String(), l.err.String())
	}
}

// TestElasticHosts checks that a command in the launcher gets the current hosts in numeric order,
// even if the indices have gaps.
func TestElasticHosts(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.start(0)
	c.start(10)
	l := c.run("--exit=strict", "--slots=2", "--min-workers=2", "--max-workers=12", "--", "sh", "-c", `
		agent rsh pi-worker-10 'sleep 4715' &
		while [ ! -e `+c.file("enough")+` ]; do
			now=$("$MUSTER_DIR/discover_hosts.sh" | tr '\n' ' ')
			[ "$now" = "$last" ] || echo "$now"; last=$now; sleep 0.1
		done
		agent rsh pi-worker-2 'echo on $ON'
		agent rsh pi-worker-10 true || echo "10: $?"
		cat "$MUSTER_MPI_DIR/hostfile" 2>/dev/null || agent hosts`)
	l.follows(t, `10\.1\.2\.1:2 10\.1\.2\.11:2 `)
	c.start(2)
	l.follows(t, `10\.1\.2\.1:2 10\.1\.2\.3:2 10\.1\.2\.11:2 `)
	c.terminate(10) // the worker still has its grace period, but is no longer a host
	l.follows(t, `10\.1\.2\.1:2 10\.1\.2\.3:2 `)
	c.take(10)
	eventually(t, "the departure is reported", func() bool { return strings.Contains(l.err.String(), "worker pi-worker-10 left") })
	c.touch("enough")
	require.Zero(t, l.end(t), "%s\n%s", l.out.String(), l.err.String())
	require.Contains(t, l.out.String(), "on pi-worker-2\n10: 255\n10.1.2.1 slots=2\n10.1.2.3 slots=2\n")
	require.Contains(t, l.err.String(), "agent: worker pi-worker-2 joined: 3 workers, 2 to 12 wanted")
	require.Contains(t, l.err.String(), "agent: worker pi-worker-10 is leaving (it is being deleted): 2 workers, 2 to 12 wanted")
	require.Zero(t, c.exited(0))
	require.Zero(t, c.exited(2), "a worker that joined is also told that the job has ended")
}

// TestElasticReplacement checks that a replaced pod with the same name is another worker, with the
// same place in the order.
func TestElasticReplacement(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.start(0)
	c.start(1)
	l := c.run("--min-workers=1", "--max-workers=2", "--", "sh", "-c", `
		while [ ! -e `+c.file("enough")+` ]; do
			now=$(agent hosts --format=hydra | tr '\n' ' ')
			[ "$now" = "$last" ] || echo "$now"; last=$now; sleep 0.1
		done
		agent rsh pi-worker-1 'echo again on $ON'`)
	l.follows(t, `10\.1\.2\.1:1 10\.1\.2\.2:1 `)
	c.take(1)
	l.follows(t, `10\.1\.2\.1:1 `)
	c.recreate(1, 2)
	eventually(t, "the replacement has joined", func() bool { return strings.Contains(l.err.String(), "pi-worker-1 joined: 2 workers") })
	c.touch("enough")
	require.Zero(t, l.end(t), l.err.String())
	require.Contains(t, l.out.String(), "again on pi-worker-1\n")
}

func TestElasticTooFew(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.start(0)
	c.start(1)
	l := c.run("--min-workers=2", "--max-workers=3", "--timeout=8s", "--", "sh", "-c", "trap 'exit 0' TERM; touch "+c.file("started")+"; sleep 60 & wait")
	eventually(t, "the command runs", func() bool { _, err := os.Stat(c.file("started")); return err == nil })
	c.take(1)
	require.Equal(t, names.ExitDeadline, l.end(t), l.err.String())
	require.Contains(t, l.err.String(), "agent: 1 of at least 2 workers ready; waiting up to 8s for more")
	require.Contains(t, l.err.String(), "agent: only 1 of at least 2 workers ready for 8.0 s")
	require.Zero(t, c.exited(0))
}

// TestElasticNeverEnough checks that the error names the missing workers and the reason if too few
// workers arrive.
func TestElasticNeverEnough(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.start(0)
	l := c.run("--min-workers=2", "--max-workers=3", "--timeout=2s", "--", "true")
	require.Equal(t, names.ExitDeadline, l.end(t))
	require.Contains(t, l.err.String(), "wait for workers: 1 of 2 workers are ready after ")
	require.Contains(t, l.err.String(), "no pod yet for workers 1-2")
}

// TestElasticGroupRestarts checks that scripts restart with the current workers, even if no restart
// is allowed.
func TestElasticGroupRestarts(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.start(0)
	c.start(2)
	l := c.run("--min-workers=2", "--max-workers=4", "--framework=plain", "--", "sh", "-c",
		`echo "$RANK of $WORLD_SIZE, attempt $MUSTER_ATTEMPT, on $ON, $MASTER_PORT"; while [ ! -e `+c.file("enough")+` ]; do sleep 0.1; done`)
	l.follows(t, `0: 0 of 2, attempt 0, on pi-worker-0, \d+`)
	l.follows(t, `1: 1 of 2, attempt 0, on pi-worker-2, \d+`)
	c.start(1)
	l.follows(t, `1: 1 of 3, attempt 1, on pi-worker-1, \d+`)
	l.follows(t, `2: 2 of 3, attempt 1, on pi-worker-2, \d+`)
	c.take(0)
	l.follows(t, `0: 0 of 2, attempt 2, on pi-worker-1, \d+`)
	l.follows(t, `1: 1 of 2, attempt 2, on pi-worker-2, \d+`)
	c.touch("enough")
	require.Zero(t, l.end(t), "%s\n%s", l.out.String(), l.err.String())
	ports := map[string]bool{}
	for _, m := range regexp.MustCompile(`attempt (\d), on \S+ (\d+)`).FindAllStringSubmatch(l.out.String(), -1) {
		ports[m[1]+" "+m[2]] = true
	}
	require.Len(t, ports, 3, "each attempt has its own port")
}

// TestElasticTorchrun checks that a command that accepts new workers gets one more process when a
// worker joins, and restarts when a worker leaves.
func TestElasticTorchrun(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	stub := filepath.Join(t.TempDir(), "torchrun")
	require.NoError(t, os.WriteFile(stub, []byte(`#!/bin/sh
echo "$PET_NNODES, ${PET_RDZV_CONF%%,*}, $PET_RDZV_ENDPOINT, attempt $MUSTER_ATTEMPT, on $ON"
while [ ! -e `+c.file("enough")+` ]; do sleep 0.1; done
`), 0o700))
	c.start(1)
	c.start(2)
	l := c.run("--min-workers=2", "--max-workers=4", "--", stub, "train.py")
	l.follows(t, `1: 2:4, is_host=1, 10\.1\.2\.2:\d+, attempt 0, on pi-worker-1`)
	l.follows(t, `2: 2:4, is_host=0, 10\.1\.2\.2:\d+, attempt 0, on pi-worker-2`)
	c.start(0) // this worker's rank is lower than that of the worker with the store
	l.follows(t, `0: 2:4, is_host=0, 10\.1\.2\.2:\d+, attempt 0, on pi-worker-0`)
	require.Equal(t, 3, strings.Count(l.out.String(), "attempt 0"), "the other processes must not restart: %s", l.err.String())
	c.take(1)
	l.follows(t, `0: 2:4, is_host=1, 10\.1\.2\.1:\d+, attempt 1, on pi-worker-0`)
	l.follows(t, `2: 2:4, is_host=0, 10\.1\.2\.1:\d+, attempt 1, on pi-worker-2`)
	c.recreate(1, 2)
	l.follows(t, `1: 2:4, is_host=0, 10\.1\.2\.1:\d+, attempt 1, on pi-worker-1`)
	require.Equal(t, 3, strings.Count(l.out.String(), "attempt 1"), "the other processes must not restart: %s", l.err.String())
	c.touch("enough")
	require.Zero(t, l.end(t), "%s\n%s", l.out.String(), l.err.String())
}

// crash kills the container of pod i, as the kernel does when it runs out of memory. The kubelet
// restarts it.
func (c *cluster) crash(i, times int) {
	name := podName(i)
	c.mu.Lock()
	cmd := c.workers[name]
	c.mu.Unlock()
	_ = cmd.Process.Kill()
	c.exited(i)
	require.NoError(c.t, os.RemoveAll(filepath.Join(c.dir, name)))
	c.start(i, func(*corev1.Pod) { c.api.Delete(namespace, name) })
	c.api.Edit(namespace, name, func(pod *corev1.Pod) {
		s := &pod.Status.ContainerStatuses[0]
		s.RestartCount, s.ContainerID = int32(times), fmt.Sprintf("containerd://%s-%d", name, times)
		s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137}
	})
}

// TestElasticOwnFault checks that a container that is killed for its memory counts as a failure of
// the job, like in any other run, and not as a worker that left.
func TestElasticOwnFault(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.start(0)
	c.start(1)
	c.start(2)
	script := `echo "$RANK of $WORLD_SIZE, attempt $MUSTER_ATTEMPT"; while [ ! -e ` + c.file("enough") + ` ]; do sleep 0.1; done`
	l := c.run("--min-workers=2", "--max-workers=3", "--framework=plain", "--max-restarts=1", "--restart-on=oom", "--", "sh", "-c", script)
	l.follows(t, `2: 2 of 3, attempt 0`)
	c.crash(1, 1)
	l.follows(t, `1: 1 of \d, attempt 1`)
	require.Contains(t, l.err.String(), "attempt 2 of 2: worker pi-worker-1 lost: container main was restarted")
	c.crash(1, 2)
	require.Equal(t, names.ExitHopeless, l.end(t), l.err.String())
	require.Contains(t, l.err.String(), "no restart: all 2 attempts are used up")
}

// TestElasticTorchrunOwnFault checks the same for a command whose other processes could continue
// without the worker.
func TestElasticTorchrunOwnFault(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	stub := filepath.Join(t.TempDir(), "torchrun")
	require.NoError(t, os.WriteFile(stub, []byte("#!/bin/sh\necho attempt $MUSTER_ATTEMPT on $ON; exec sleep 60\n"), 0o700))
	c.start(0)
	c.start(1)
	l := c.run("--min-workers=1", "--max-workers=2", "--", stub, "train.py")
	l.follows(t, `1: attempt 0 on pi-worker-1`)
	c.crash(1, 1)
	require.Equal(t, names.ExitHopeless, l.end(t), l.err.String())
	require.Contains(t, l.err.String(), "worker pi-worker-1 lost: container main was restarted while the job ran; it had been killed for its memory (OOMKilled)")
}

// TestElasticTorchrunGrows checks that torchrun accepts a worker that joins after the start.
func TestElasticTorchrunGrows(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	stub := filepath.Join(t.TempDir(), "torchrun")
	require.NoError(t, os.WriteFile(stub, []byte("#!/bin/sh\necho begins on $ON; while [ ! -e "+c.file("enough")+" ]; do sleep 0.1; done\n"), 0o700))
	c.start(0)
	l := c.run("--min-workers=1", "--max-workers=2", "--", stub, "train.py")
	l.follows(t, `0: begins on pi-worker-0`)
	c.start(1)
	l.follows(t, `1: begins on pi-worker-1`)
	require.NoError(t, os.WriteFile(c.file("enough"), nil, 0o600))
	require.Zero(t, l.end(t), l.err.String())
}

// TestElasticNodeIsBack checks that the old processes on a lost node end before another process
// starts there when the node comes back.
func TestElasticNodeIsBack(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	ready := func(is corev1.ConditionStatus) {
		c.api.Edit(namespace, podName(1), func(pod *corev1.Pod) {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: is, LastTransitionTime: metav1.Now()}}
		})
	}
	c.start(0)
	c.start(1)
	pid1 := c.workers[podName(1)].Process
	l := c.run("--min-workers=1", "--max-workers=2", "--node-lost-after=1s", "--framework=plain", "--", "sh", "-c", `
		pid=`+c.dir+`/pid-$ON
		if [ -e $pid ] && kill -0 $(cat $pid); then echo "old process on $ON"; fi 2>/dev/null
		echo $$ > $pid; echo "$RANK of $WORLD_SIZE, attempt $MUSTER_ATTEMPT, on $ON"
		while [ ! -e `+c.file("enough")+` ]; do sleep 0.1; done`)
	l.follows(t, `1: 1 of 2, attempt 0, on pi-worker-1`)
	require.NoError(t, pid1.Signal(syscall.SIGSTOP))
	ready(corev1.ConditionFalse)
	l.follows(t, `(0: )?0 of 1, attempt 1, on pi-worker-0`)
	require.NoError(t, syscall.Kill(pidIn(t, c.file("pid-pi-worker-1")), 0), "the old process still runs on the lost node")
	require.NoError(t, pid1.Signal(syscall.SIGCONT))
	ready(corev1.ConditionTrue)
	l.follows(t, `1: 1 of 2, attempt 2, on pi-worker-1`)
	c.touch("enough")
	require.Zero(t, l.end(t), l.err.String())
	require.NotContains(t, l.out.String(), "old process")
	require.Contains(t, l.err.String(), "worker pi-worker-1 joined: 2 workers")
}

func pidIn(t *testing.T, file string) (pid int) {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	_, err = fmt.Sscan(string(text), &pid)
	require.NoError(t, err)
	return pid
}

// TestElasticSurvivesAPIServer checks that dropped links and a restart of the API server do not
// affect the run: no worker leaves, and a worker that started in the meantime joins.
func TestElasticSurvivesAPIServer(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.start(0)
	c.start(1)
	l := c.run("--min-workers=2", "--max-workers=4", "--framework=plain", "--", "sh", "-c",
		`echo "$RANK of $WORLD_SIZE, attempt $MUSTER_ATTEMPT"; while [ ! -e `+c.file("enough")+` ]; do sleep 0.1; done`)
	l.follows(t, `1: 1 of 2, attempt 0`)
	c.api.Stop()
	c.exec.Cut(true)
	c.start(2) // the kubelet starts the worker during the outage
	outage()
	require.NotContains(t, l.err.String(), "joined")
	c.api.Start()
	l.follows(t, `2: 2 of 3, attempt 1`)
	c.touch("enough")
	require.Zero(t, l.end(t), l.err.String())
	require.NotContains(t, l.err.String(), "left")
	require.NotContains(t, l.err.String(), " lost")
}
