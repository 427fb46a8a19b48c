//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/check"
	"github.com/musterhq/muster/test/suite/kube"
)

// findings runs `agent doctor -o json` and returns what it found.
func (s *space) findings(cli string, code int, args ...string) []check.Finding {
	s.t.Helper()
	said := s.agent(cli, 2*time.Minute, append([]string{"doctor", "-o", "json"}, args...)...)
	require.Equal(s.t, code, said.code, "%s%s", said.out, said.err)
	var found []check.Finding
	require.NoError(s.t, json.Unmarshal([]byte(said.out), &found), said.err)
	require.NotEmpty(s.t, found)
	return found
}

// verdictsOf returns the worst verdict of each check. Findings are sorted, so it is the first.
func verdictsOf(found []check.Finding) map[string]check.Verdict {
	worst := map[string]check.Verdict{}
	for _, f := range found {
		if _, known := worst[f.Check]; !known {
			worst[f.Check] = f.Verdict
		}
	}
	return worst
}

// waiting is a job whose ranks do nothing, so that its workers can be checked meanwhile.
func (s *space) waiting(name string, workers int32) {
	s.t.Helper()
	s.launch(launchJob(s.t, name, []string{"mpirun", "sleep", "600"}, withWorkers(workers)))
	s.becomes(name, time.Minute, "running", inPhase(v1alpha1.PhaseRunning))
}

// TestDoctorHealthy checks that a healthy job in a healthy cluster has no failure, from outside and in its launcher.
func TestDoctorHealthy(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	withController(t)
	agent := cli(t)
	for name, verdict := range verdictsOf(s.findings(agent, 0)) {
		require.Equal(t, check.OK, verdict, name)
	}
	s.waiting("well", 3)
	found := s.findings(agent, 0, "well")
	worst := verdictsOf(found)
	for _, name := range []string{"cluster", "version", "crd", "controller", "rights", "quota", "pod-security", "image", "connect"} {
		require.Equal(t, check.OK, worst[name], "%s: %+v", name, found)
	}
	for _, f := range found {
		if f.Check == "exec" { // other tests make this machine slow
			require.Regexp(t, `^exec works over (SPDY|WebSocket) in `, f.Found)
		}
	}
	require.Contains(t, worst, "exec")
	require.NotEqual(t, check.Fail, check.Worst(found))
	inside := s.exec(time.Minute, "well-launcher", "/muster/agent", "doctor")
	require.Zero(t, inside.code, inside.stdout+inside.stderr)
	require.Regexp(t, `(?m)^\d+ checks: .*\d+ ok$`, inside.stdout)
	inside = s.exec(time.Minute, "well-worker-0", "/muster/agent", "doctor", "--verbose")
	require.Zero(t, inside.code, inside.stdout+inside.stderr)
	require.Regexp(t, `(?m)^OK +disk +well-worker-0 `, inside.stdout)
	t.Log(s.agent(agent, time.Minute, "doctor", "well", "--verbose").out)
}

// TestDoctorBlockedPair drops the packets between two workers of a job. The first line must name both.
func TestDoctorBlockedPair(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	withController(t)
	s.waiting("cut", 4)
	s.block("cut-worker-1", s.pod("cut-worker-2").Status.PodIP)
	agent := cli(t)
	found := s.findings(agent, 1, "cut")
	require.Equal(t, "connect", found[0].Check, "%+v", found)
	require.Equal(t, check.Fail, found[0].Verdict)
	require.Contains(t, found[0].Of, "cut-worker-1")
	require.Contains(t, found[0].Of, "cut-worker-2")
	said := s.agent(agent, time.Minute, "doctor", "cut")
	require.Equal(t, 1, said.code)
	require.Regexp(t, `^FAIL +connect +cut-worker-[12] to cut-worker-[12] `, said.out)
	t.Log(said.out)
}

// within runs a command in the network namespace of a pod, as root of its node. What it changes ends with the pod.
func (s *space) within(pod string, command ...string) {
	s.t.Helper()
	of := s.pod(pod)
	target := 0
	for _, p := range processesOf(s.t, s.pods())[of.Name] {
		if p.inner == 1 {
			target = p.pid
		}
	}
	require.NotZero(s.t, target, "PID 1 of %s is not on this machine", pod)
	out, err := exec.CommandContext(s.t.Context(), "nsenter", append([]string{"--target", strconv.Itoa(target), "--net", "--"}, command...)...).CombinedOutput()
	require.NoError(s.t, err, "%s: %s", strings.Join(command, " "), out)
}

// block drops packets between a pod and an address.
func (s *space) block(pod, address string) {
	s.t.Helper()
	s.within(pod, "iptables", "-w", "-I", "INPUT", "--source", address, "-j", "DROP")
	s.within(pod, "iptables", "-w", "-I", "OUTPUT", "--destination", address, "-j", "DROP")
}

// TestDoctorRights checks that a user without rights learns of that first, and that the printed command grants them.
func TestDoctorRights(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	withController(t)
	s.kubectl("create", "serviceaccount", "person")
	agent, config := cli(t), s.configFor("person")
	found := s.findings(agent, 1, "--kubeconfig", config)
	require.Equal(t, "rights", found[0].Check, "%+v", found)
	require.Contains(t, found[0].Found, "person may not create launchjobs.muster.dev")
	_, command, ok := strings.Cut(found[0].Remedy, "\n")
	require.True(t, ok)
	_, manifest, ok := strings.Cut(command, "\n")
	require.True(t, ok)
	_, err := kubectlCall{namespace: s.name, stdin: []byte(strings.TrimSuffix(manifest, "EOF"))}.run("apply", "-f", "-")
	require.NoError(t, err, command)
	require.Equal(t, check.OK, verdictsOf(s.findings(agent, 0, "--kubeconfig", config))["rights"])
}

// TestDoctorNoCluster checks what a user sees whose kubeconfig does not exist.
func TestDoctorNoCluster(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), cli(t), "doctor")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+t.TempDir()+"/none")
	out, err := cmd.Output()
	require.ErrorContains(t, err, "exit status 1")
	require.Regexp(t, `^FAIL +cluster +no cluster: not running in a pod, and KUBECONFIG=.*/none does not exist\n`, string(out))
}

// TestDoctorWithoutCRD removes the CRD from the cluster and puts it back. It does not run beside other tests.
func TestDoctorWithoutCRD(t *testing.T) {
	s := newSpace(t)
	withController(t)
	if left := strings.TrimSpace(s.kubectl("get", "launchjobs", "-A", "-o", "name")); left != "" {
		t.Skipf("removing the CRD would delete these jobs: %s", left)
	}
	s.kubectl("delete", "crd", "launchjobs.muster.dev", "--timeout=50s")
	t.Cleanup(func() { // with its own context: that of the test has ended
		ctx, stop := context.WithTimeout(context.Background(), 3*time.Minute)
		defer stop()
		require.NoError(t, kube.Controller(ctx, "../../images/deploy", run()))
	})
	found := s.findings(cli(t), 1)
	require.Equal(t, "crd", found[0].Check, "%+v", found)
	require.Equal(t, "the cluster has no CRD launchjobs.muster.dev", found[0].Found)
	require.Contains(t, found[0].Remedy, "kubectl apply -f images/install.yaml")
}
