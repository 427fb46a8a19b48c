//go:build e2e

package live

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/test/suite/figure"
)

// TestLeader: of two controllers one works. It is deleted, then one is killed, then
// one is frozen and comes back; each time another takes over, and jobs go on.
func TestLeader(t *testing.T) {
	require.NoError(t, clean())
	in := newSpace(t, "leader")
	shows(in, in.name)
	w := chart(t, in.name)
	w.install(t)
	in.until(time.Minute, "there is a leader", func() bool { pod, _ := in.leader(); return pod != "" })
	var taken []float64
	strike := func(how string, do func(leader corev1.Pod), limit time.Duration) {
		pod, holder := in.leader()
		began := time.Now()
		do(in.controller(pod))
		in.until(limit, how+": another leads", func() bool {
			_, now := in.leader()
			return now != "" && now != holder
		})
		took := time.Since(began).Seconds()
		t.Logf("%s: another leads after %.1f s", how, took)
		taken = append(taken, took)
		in.launch(how, "mpirun", "/opt/muster-test/hello")
		in.succeeds(how)
	}
	strike("deleted", func(p corev1.Pod) { in.kubectl("delete", "pod", p.Name, "--wait=false") }, 20*time.Second)
	strike("killed", func(p corev1.Pod) { signal(t, p, syscall.SIGKILL) }, time.Minute)
	var frozen corev1.Pod
	strike("frozen", func(p corev1.Pod) { frozen = p; signal(t, p, syscall.SIGSTOP) }, time.Minute)
	next, _ := in.leader()
	require.NotEqual(t, frozen.Name, next)
	// The kubelet may have killed it by now: it did not answer its probe.
	signalled := trySignal(frozen, syscall.SIGCONT)
	in.until(90*time.Second, "the one that was frozen begins anew", func() bool {
		return in.controller(frozen.Name).Status.ContainerStatuses[0].RestartCount >
			frozen.Status.ContainerStatuses[0].RestartCount
	})
	t.Logf("woken by us: %t", signalled)
	rolledOut(t, in.name)
	again, _ := in.leader()
	require.Equal(t, next, again, "who was frozen leads no more")
	record(t, figure.Row{Name: "the controller's leader ends without a word: until another leads", Op: "<=", Bar: 45},
		figure.Series{Unit: "s", Samples: taken[1:], Reduce: "max"})
	record(t, figure.Row{Name: "the controller's leader is deleted: until another leads", Op: "<=", Bar: 15},
		figure.Series{Unit: "s", Samples: taken[:1], Reduce: "max"})
	w.uninstall(t)
}

// leader reads the lease: the pod, and its holder's whole name.
func (s space) leader() (pod, holder string) {
	s.t.Helper()
	holder, err := s.try(nil, "get", "lease", "muster-controller", "-o", "jsonpath={.spec.holderIdentity}")
	if err != nil { // there is none yet
		return "", ""
	}
	pod, _, _ = strings.Cut(holder, "_")
	return pod, holder
}

func (s space) controller(name string) corev1.Pod {
	s.t.Helper()
	for _, pod := range s.pods(controllerPods) {
		if pod.Name == name {
			return pod
		}
	}
	require.Fail(s.t, "no such controller", name)
	return corev1.Pod{}
}

func signal(t *testing.T, pod corev1.Pod, sig syscall.Signal) {
	t.Helper()
	require.True(t, trySignal(pod, sig), "no process of %s is here: only on the cluster of test/lab/cluster", pod.Name)
}

// trySignal signals the process of a pod's first container: nodes of test/lab/cluster are
// namespaces of this machine.
func trySignal(pod corev1.Pod, sig syscall.Signal) bool {
	_, id, _ := strings.Cut(pod.Status.ContainerStatuses[0].ContainerID, "://")
	groups, _ := filepath.Glob("/proc/[0-9]*/cgroup")
	for _, path := range groups {
		text, err := os.ReadFile(path)
		line, _, _ := bytes.Cut(text, []byte("\n"))
		if err != nil || filepath.Base(string(line)) != id {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		return err == nil && syscall.Kill(pid, sig) == nil
	}
	return false
}
