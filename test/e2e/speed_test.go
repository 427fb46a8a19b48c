//go:build e2e

package e2e

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/kube"
	"github.com/musterhq/muster/test/suite/proc"
)

const (
	launchWorkers = 20
	launchSlots   = 2
	launchPairs   = 7
)

// firstLines runs a command and prints the milliseconds until a number of lines has arrived. Each rank writes one
// line.
//
//go:embed testdata/first_lines.py
var firstLines string

// TestLaunchTime measures the time from mpirun's start to the last rank's first line, with 20 workers. It compares
// with the same mpirun in the same network namespace, whose agent enters the workers' containers with nsenter. That
// agent uses no API server and no kubelet, only the kernel. The test needs root on the machine of the nodes.
func TestLaunchTime(t *testing.T) {
	s := newSpace(t)
	// A short name, because the host names of the containers identify them outside.
	j := job{name: "t" + s.name[len(s.name)-5:], image: "openmpi", workers: launchWorkers, slots: launchSlots,
		command: []string{"sleep", "inf"}}
	s.start(j)
	s.follow(j.launcherName()).until(3*time.Minute, fmt.Sprintf("%d/%d ready", j.workers, j.workers))
	floor := s.nsenterFloor(j)
	mpirun := []string{"mpirun.openmpi", "/opt/muster-test/where"}
	ranks := launchWorkers * launchSlots

	var ours, theirs []float64
	for range launchPairs + 1 {
		got := s.exec(time.Minute, j.launcherName(), "sh", "-c", `eval "$(agent env)"; exec python3 -c "$0" "$@"`,
			firstLines, strconv.Itoa(ranks), mpirun[0], mpirun[1])
		require.Zero(t, got.code, "%+v", got)
		ours = append(ours, milliseconds(t, got.stdout))
		theirs = append(theirs, milliseconds(t, floor(ranks, mpirun)))
	}
	ours, theirs = ours[1:], theirs[1:] // the first run of each warms up
	t.Logf("ms: agent %.0f, nsenter %.0f", ours, theirs)
	const name = "mpirun over 20 workers, last rank's first line, over nsenter"
	record(t, figure.Row{Name: name}, map[string]figure.Series{
		name:      {Unit: "ratio", Reduce: "median", Samples: pairRatios(ours, theirs)},
		"agent":   {Unit: "ms", Reduce: "median", Samples: ours},
		"nsenter": {Unit: "ms", Reduce: "median", Samples: theirs},
	})
}

func milliseconds(t *testing.T, text string) float64 {
	t.Helper()
	ms, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	require.NoError(t, err)
	return ms
}

// nsenterAgent is an rsh agent that reads process IDs from a table by host.
const nsenterAgent = `#!/bin/sh
read -r pid < %s/"$1"
shift
exec nsenter --target "$pid" --mount --uts --ipc --net --pid --setuid 1000 --setgid 1000 -- /bin/sh -c "$*"
`

// nsenterFloor returns a function that runs this machine's mpirun with the launcher's network and host name, the
// launcher's settings, and an agent that enters the containers.
func (s *space) nsenterFloor(j job) func(lines int, command []string) string {
	s.t.Helper()
	inPod := s.exec(time.Minute, j.launcherName(), "mpirun.openmpi", "--version")
	here, err := exec.Command("mpirun.openmpi", "--version").Output()
	require.NoError(s.t, err, "the comparison needs Open MPI on this machine: apt-get install openmpi-bin")
	require.Equal(s.t, inPod.stdout, string(here), "this machine's mpirun must have the version of the image's")

	dir := s.t.TempDir()
	agent, hosts := filepath.Join(dir, "agent"), filepath.Join(dir, "hosts")
	require.NoError(s.t, os.Mkdir(hosts, 0o755))
	containers, err := proc.Containers()
	require.NoError(s.t, err)
	var hostfile strings.Builder
	for _, pod := range s.pods() {
		require.NotEmpty(s.t, containers[pod.Name], "no process of %s on this machine", pod.Name)
		if isWorker(&pod) {
			require.NoError(s.t, os.WriteFile(filepath.Join(hosts, pod.Status.PodIP), []byte(strconv.Itoa(containers[pod.Name][0].PID)+"\n"), 0o644))
			fmt.Fprintf(&hostfile, "%s slots=%d\n", pod.Status.PodIP, j.slots)
		}
	}
	require.NoError(s.t, os.WriteFile(agent, []byte(fmt.Sprintf(nsenterAgent, hosts)), 0o755))
	list := filepath.Join(dir, "hostfile")
	require.NoError(s.t, os.WriteFile(list, []byte(hostfile.String()), 0o644))

	// orted looks for the agent in the worker too: /bin/sh exists in both places.
	env := []string{"PATH=/usr/bin:/bin", "HOME=/tmp", "SHELL=/bin/bash", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
		"OMPI_MCA_plm_rsh_agent=/bin/sh " + agent, "OMPI_MCA_orte_default_hostfile=" + list,
		"OMPI_MCA_plm_rsh_no_tree_spawn=1", "OMPI_MCA_plm_rsh_num_concurrent=128",
		"OMPI_MCA_orte_keep_fqdn_hostnames=0", "OMPI_MCA_hwloc_base_binding_policy=none"}
	return func(lines int, command []string) string {
		args := append([]string{"--target", strconv.Itoa(containers[j.launcherName()][0].PID), "--net", "--uts", "--",
			"/usr/bin/python3", "-c", firstLines, strconv.Itoa(lines)}, command...)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "nsenter", args...)
		cmd.Env, cmd.Dir, cmd.WaitDelay = env, "/tmp", time.Second
		out, err := cmd.Output()
		require.NoError(s.t, err)
		return string(out)
	}
}

const (
	streamMiB   = 256
	streamPairs = 9
)

// TestThroughput measures one session's stdout, from a file in the worker to a pipe in the launcher's pod. It
// compares with the cluster's own kubectl in the same pod with the same rights.
func TestThroughput(t *testing.T) {
	s := newSpace(t)
	j := job{name: "stream", image: "openmpi", workers: 1, slots: 1, command: []string{"sleep", "inf"}}
	s.apply(readPods(s.name)...)
	s.start(j)
	s.follow("stream-launcher").until(2*time.Minute, "1/1 ready")
	s.putKubectl("stream-launcher")
	size := fmt.Sprint(streamMiB << 20)
	made := s.exec(time.Minute, "stream-worker-0", "sh", "-c", "head -c "+size+" /dev/urandom > /tmp/file && wc -c < /tmp/file")
	require.Equal(t, size+"\n", made.stdout)

	pair := s.exec(5*time.Minute, "stream-launcher", "sh", "-c", `
timed() {
    name=$1; shift; start=$(date +%s%N)
    bytes=$({ "$@" || echo $? >/tmp/failed; } | wc -c)
    echo "$name $bytes $(( $(date +%s%N) - start ))"
    [ ! -e /tmp/failed ] || { echo "$name exits with $(cat /tmp/failed)" >&2; exit 1; }
}
i=0
while [ $i -le `+fmt.Sprint(streamPairs)+` ]; do
    timed agent agent rsh stream-worker-0 cat /tmp/file
    timed kubectl /tmp/kubectl exec stream-worker-0 -- cat /tmp/file
    i=$((i+1))
done`)
	require.Zero(t, pair.code, "%+v", pair)
	rates := map[string][]float64{}
	for line := range strings.Lines(pair.stdout) {
		var name string
		var bytes int
		var took time.Duration
		_, err := fmt.Sscan(line, &name, &bytes, &took)
		require.NoError(t, err, line)
		if lost := streamMiB<<20 - bytes; name == "kubectl" && lost > 0 { // kubectl loses bytes on a busy machine
			t.Logf("kubectl exec lost %d bytes without an error; its rate counts received bytes", lost)
		} else {
			require.Zero(t, lost, "%s lost or added output", name)
		}
		rates[name] = append(rates[name], float64(bytes>>20)/took.Seconds())
	}
	agent, kubectl := rates["agent"][1:], rates["kubectl"][1:] // the first run of each warms up
	t.Logf("MiB/s: agent %.0f, kubectl %.0f", agent, kubectl)
	record(t, figure.Row{Name: "session stdout over kubectl exec", Op: ">=", Bar: 0.8}, map[string]figure.Series{
		"session stdout over kubectl exec": {Unit: "ratio", Reduce: "median", Samples: pairRatios(agent, kubectl)},
		"agent":                            {Unit: "MiB/s", Reduce: "median", Samples: agent},
		"kubectl":                          {Unit: "MiB/s", Reduce: "median", Samples: kubectl},
	})
}

// readPods returns objects that allow the launcher's service account to get pods: kubectl exec reads the pod first.
func readPods(namespace string) []any {
	meta := metav1.ObjectMeta{Name: "kubectl", Namespace: namespace}
	return []any{
		rbacv1.Role{TypeMeta: metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "Role"}, ObjectMeta: meta,
			Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}}},
		rbacv1.RoleBinding{TypeMeta: metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "RoleBinding"}, ObjectMeta: meta,
			RoleRef:  rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: "kubectl"},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "stream-launcher", Namespace: namespace}}},
	}
}

// putKubectl copies the cluster's kubectl to /tmp/kubectl of a pod. There it uses the pod's service account.
func (s *space) putKubectl(pod string) {
	s.t.Helper()
	program, err := os.ReadFile(kube.Path())
	require.NoError(s.t, err)
	_, err = kubectlCall{namespace: s.name, stdin: program, limit: 2 * time.Minute}.run(
		"exec", "-i", pod, "--", "sh", "-c", "cat > /tmp/kubectl && chmod 755 /tmp/kubectl")
	require.NoError(s.t, err)
}
