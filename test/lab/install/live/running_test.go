//go:build e2e

package live

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/musterhq/muster/test/suite/figure"
)

// TestOneNamespace checks that a controller for namespace a has no rights in b and no cluster-wide rights,
// installed by the chart and by images/deploy-namespaced. A job in b stays unchanged.
func TestOneNamespace(t *testing.T) {
	const namespaced = "../../../../images/deploy-namespaced/kustomization.yaml"
	text, err := os.ReadFile(namespaced)
	require.NoError(t, err)
	var beyond []float64
	t.Run("helm", func(t *testing.T) {
		require.NoError(t, clean())
		a, b := newSpace(t, "a"), newSpace(t, "b")
		w := chart(t, system, "--set=namespaces={"+a.name+"}")
		w.install(t)
		beyond = append(beyond, confined(a, b)...)
		w.uninstall(t)
		require.Empty(t, a.kubectl("get", "roles,rolebindings", "-l", component, "-o", "name"))
	})
	t.Run("kustomize", func(t *testing.T) {
		require.NoError(t, clean())
		a, b := newSpace(t, "a"), newSpace(t, "b")
		require.Equal(t, 3, strings.Count(string(text), ": jobs}"), "the name occurs in three places")
		images := "images:\n  - {name: ghcr.io/musterhq/muster-controller, newName: " + manuals + "/muster-controller}\n  - {name: ghcr.io/musterhq/muster-agent, newName: " + manuals + "/muster-agent}\n"
		dir := overlay(t, strings.ReplaceAll(string(text), ": jobs}", ": "+a.name+"}")+images)
		_, err := kubectl("apply", "-k", dir)
		require.NoError(t, err)
		rolledOut(t, system)
		beyond = append(beyond, confined(a, b)...)
		_, err = kubectl("delete", "-k", dir, "-l", component)
		require.NoError(t, err)
		require.Empty(t, a.kubectl("get", "roles,rolebindings", "-l", component, "-o", "name"))
	})
	record(t, figure.Row{Name: "a controller for one namespace: its rights in other namespaces and in the whole cluster", Op: "==", Bar: 0},
		figure.Series{Unit: "rights", Samples: beyond, Reduce: "sum"})
}

// confined checks the rights of the account in a and in b, and runs a job in each. It
// returns a 1 for each right that the account has outside of a.
func confined(a, b space) (beyond []float64) {
	t := a.t
	shows(a, system)
	const account = "system:serviceaccount:" + system + ":muster-controller"
	may := func(s space, args ...string) bool {
		out, _ := s.try(nil, append([]string{"auth", "can-i", "--as=" + account}, args...)...) // the answer no has an exit code, too
		require.Contains(t, []string{"yes", "no"}, strings.TrimSpace(out))
		return strings.TrimSpace(out) == "yes"
	}
	b.launch("untouched", "mpirun", "/opt/muster-test/hello")
	for _, right := range [][]string{
		{"list", "launchjobs.muster.dev"}, {"update", "launchjobs.muster.dev", "--subresource=status"}, {"create", "pods"}, {"list", "pods"}, {"watch", "pods"}, {"delete", "pods"},
		{"create", "pods", "--subresource=exec"}, {"create", "services"}, {"create", "serviceaccounts"}, {"create", "roles.rbac.authorization.k8s.io"}, {"create", "rolebindings.rbac.authorization.k8s.io"}, {"create", "secrets"}, {"patch", "pods"},
	} {
		require.True(t, may(a, right...), "may not %v in its own namespace", right)
		for _, elsewhere := range [][]string{right, append([]string{"--all-namespaces"}, right...)} {
			beyond = append(beyond, 0)
			if may(b, elsewhere...) {
				beyond[len(beyond)-1] = 1
				t.Errorf("the controller may %v", elsewhere)
			}
		}
	}
	for _, never := range [][]string{{"get", "secrets"}, {"list", "secrets"}, {"update", "launchjobs.muster.dev"}, {"escalate", "roles.rbac.authorization.k8s.io"}, {"bind", "roles.rbac.authorization.k8s.io"}, {"impersonate", "serviceaccounts"}} {
		require.False(t, may(a, never...), "may %v in its own namespace", never)
	}
	for _, kind := range []string{"nodes", "namespaces", "customresourcedefinitions.apiextensions.k8s.io", "clusterroles.rbac.authorization.k8s.io"} {
		require.False(t, may(b, "list", kind, "--all-namespaces"), "%s", kind)
	}
	require.False(t, may(b, "create", "tokenreviews.authentication.k8s.io", "--all-namespaces"), "it takes no progress reports")
	var bindings rbacv1.ClusterRoleBindingList
	require.NoError(t, json.Unmarshal([]byte(b.kubectl("get", "clusterrolebindings", "-o", "json")), &bindings))
	for _, binding := range bindings.Items {
		for _, subject := range binding.Subjects {
			require.NotEqual(t, system, subject.Namespace, "%s", binding.Name)
		}
	}
	a.launch("served", "mpirun", "/opt/muster-test/hello")
	a.succeeds("served")
	time.Sleep(3 * time.Second) // there is no event to wait for if nothing may happen
	var job struct{ Status map[string]any }
	require.NoError(t, json.Unmarshal([]byte(b.kubectl("get", "launchjob", "untouched", "-o", "json")), &job))
	require.Empty(t, job.Status, "the job of another namespace has a status")
	require.Empty(t, b.pods("muster.dev/job"))
	require.Empty(t, b.kubectl("get", "events,services,roles", "-o", "name"), fmt.Sprintf("objects in %s", b.name))
	return beyond
}

// TestLeader checks that another controller takes over when the leader is deleted, killed or frozen, and that jobs
// continue. A frozen leader is also continued.
func TestLeader(t *testing.T) {
	require.NoError(t, clean())
	in := newSpace(t, "leader")
	shows(in, in.name)
	w := chart(t, in.name)
	w.install(t)
	in.until(time.Minute, "a leader is elected", func() bool { pod, _ := in.leader(); return pod != "" })
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
	// The kubelet may have killed the process by now, because it did not answer its probe.
	signaled := trySignal(frozen, syscall.SIGCONT)
	in.until(90*time.Second, "the frozen controller is restarted", func() bool {
		return in.controller(frozen.Name).Status.ContainerStatuses[0].RestartCount >
			frozen.Status.ContainerStatuses[0].RestartCount
	})
	t.Logf("continued by SIGCONT: %t", signaled)
	rolledOut(t, in.name)
	again, _ := in.leader()
	require.Equal(t, next, again, "the frozen controller must not lead again")
	record(t, figure.Row{Name: "the controller's leader is killed or frozen: time until another one leads", Op: "<=", Bar: 45},
		figure.Series{Unit: "s", Samples: taken[1:], Reduce: "max"})
	record(t, figure.Row{Name: "the controller's leader is deleted: time until another one leads", Op: "<=", Bar: 15},
		figure.Series{Unit: "s", Samples: taken[:1], Reduce: "max"})
	w.uninstall(t)
}

// leader returns the leader's pod and the full name of the holder, from the lease.
func (s space) leader() (pod, holder string) {
	s.t.Helper()
	holder, err := s.try(nil, "get", "lease", "muster-controller", "-o", "jsonpath={.spec.holderIdentity}")
	if err != nil { // there is no lease yet
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
	require.Fail(s.t, "no such controller pod", name)
	return corev1.Pod{}
}

func signal(t *testing.T, pod corev1.Pod, sig syscall.Signal) {
	t.Helper()
	require.True(t, trySignal(pod, sig), "%s has no process on this machine: this needs the cluster of test/lab/cluster", pod.Name)
}

// trySignal signals the process of a pod's first container. The nodes of test/lab/cluster are
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
