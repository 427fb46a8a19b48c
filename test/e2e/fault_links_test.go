//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/test/suite/figure"
)

// breakLinks cuts links but ends no process. An Open MPI job, an MPICH job and raw sessions have 20 workers each: 60
// links.
func breakLinks(t *testing.T, f *faults) {
	t.Cleanup(func() { awaitControllers(t) })
	for _, row := range []fault{
		{event: "all streams cut 10 times", survived: true, strike: cutTenTimes, after: cuts},
		{event: "kubelets restarted", survived: true, strike: func(h *hit) { onBothNodes(h, "kubelet", "restart") }},
		{event: "containerd restarted", survived: true, strike: restartContainerd, after: bridges},
		{event: "packets of the launchers lost for 20 s", survived: true, strike: dropFor20s, after: shown},
		{event: "token expired and rotated", survived: true, launcher: ownToken, strike: rotate, after: shown},
		{event: "API server stopped for 20 s", survived: true, strike: stopFor20s, after: resumed},
	} {
		t.Run(row.event, func(t *testing.T) {
			if row.launcher != nil {
				issueTokens(&space{t: t, name: f.s.name}, f, firstToken)
			}
			row.run(t, f)
		})
	}
}

func cutTenTimes(h *hit) {
	ips := h.launcherIPs()
	for range 10 {
		cluster(h.t, append([]string{"apiserver", "cut"}, ips...)...)
		h.relinked()
		time.Sleep(300 * time.Millisecond) // lets some data pass between the cuts
	}
}

// relinked waits until every link of every launcher is up again.
func (h *hit) relinked() {
	h.t.Helper()
	for _, w := range h.works {
		w.relinked()
	}
}

// cuts requires that every link was cut every time, and was up again within 3 s. The server was available all the
// time.
func cuts(_ *hit, table *faultTable) []figure.Row {
	for _, c := range table.Cases {
		table.Links += c.Redials
		table.Resumed = max(table.Resumed, c.Seconds)
	}
	return []figure.Row{
		{Name: "links cut", Op: ">=", Bar: 10 * 3 * faultWorkers, Log: "links_cut"},
		resumedWithin(figure.Row{Name: fmt.Sprintf("%d links cut at once: all resumed", 3*faultWorkers), Unit: "s", Log: "resumed_s"}),
	}
}

// restartContainerd counts bridges 20 s after the restart: an old bridge never sees EOF.
func restartContainerd(h *hit) {
	onBothNodes(h, "containerd", "restart")
	pods := h.f.workerPods(h.space)
	time.Sleep(time.Until(h.at.Add(20 * time.Second)))
	for _, list := range processesOf(h.t, pods) {
		n := 0
		for _, p := range list {
			if p.isAttach() {
				n++
			}
		}
		h.bridges = max(h.bridges, n)
	}
	require.Positive(h.t, h.bridges, "the number of bridges")
}

func bridges(h *hit, table *faultTable) []figure.Row {
	table.Extra = h.bridges
	return []figure.Row{{Name: "bridges in any worker 20 s later", Op: "<=", Bar: 1, Log: "extra"}}
}

func dropFor20s(h *hit) {
	ips := h.launcherIPs()
	pass := func() { cluster(h.t, "apiserver", "pass") }
	h.t.Cleanup(pass)
	cluster(h.t, append([]string{"apiserver", "drop"}, ips...)...)
	time.Sleep(time.Until(h.at.Add(20 * time.Second)))
	pass()
	h.back = time.Now()
	h.relinked()
}

func stopFor20s(h *hit) {
	cont := func() { cluster(h.t, "apiserver", "cont") }
	h.t.Cleanup(cont)
	cluster(h.t, "apiserver", "stop")
	time.Sleep(time.Until(h.at.Add(20 * time.Second)))
	cont()
	h.back = time.Now()
	h.relinked()
}

// tokenDir is the directory of a launcher's token. A launcher's first token expires after a short time, although an
// API server's minimum is ten minutes. Before it expires, the kubelet writes the next token into the pod, as when
// it rotates a projected token.

const tokenDir = "/var/run/secrets/kubernetes.io/serviceaccount" //nolint:gosec // G101: a path, not a token

// tokenSecret returns the name of the Secret that a launcher's pod mounts at tokenDir.
func tokenSecret(j job) string { return j.name + "-token" }

// firstToken is the nominal lifetime of the first tokens. The API server accepts them a minute longer, because
// clocks may differ.
const firstToken = 45 * time.Second

// issueTokens issues new tokens for all launchers. If lasting is 0, they have the API server's own ten minutes.
func issueTokens(s *space, f *faults, lasting time.Duration) {
	s.t.Helper()
	ca := s.kubectl("get", "configmap", "kube-root-ca.crt", "-o", `jsonpath={.data.ca\.crt}`)
	var secrets []any
	for _, j := range f.jobs {
		token := s.kubectl("create", "token", j.name+"-launcher", "--duration=10m")
		if lasting > 0 {
			token = expiring(s.t, token, lasting)
		}
		secrets = append(secrets, map[string]any{"apiVersion": "v1", "kind": "Secret",
			"metadata":   map[string]any{"name": tokenSecret(j)},
			"stringData": map[string]string{"token": strings.TrimSpace(token), "ca.crt": ca, "namespace": s.name}})
	}
	s.apply(secrets...)
}

// expiring returns token with a different expiration time.
func expiring(t *testing.T, token string, lasting time.Duration) string {
	t.Helper()
	cmd := exec.Command(os.Getenv("MUSTER_CLUSTER"), "token", "expire", strconv.Itoa(int(lasting.Seconds())))
	cmd.Stdin = strings.NewReader(token)
	out, err := cmd.Output()
	require.NoError(t, err)
	return string(out)
}

// ownToken mounts the Secret of a job over its launcher's token. Open MPI's daemons stay in their sessions, because
// all links must be up when the token expires. Links that only serve daemons would be given up after a minute,
// before that.
func ownToken(pod *corev1.Pod) {
	no := false
	pod.Spec.AutomountServiceAccountToken = &no
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "token", VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: pod.Labels["muster.dev/job"] + "-token"}}})
	first(pod).VolumeMounts = append(first(pod).VolumeMounts, corev1.VolumeMount{Name: "token", MountPath: tokenDir})
	first(pod).Env = append(first(pod).Env, corev1.EnvVar{Name: "OMPI_MCA_orte_leave_session_attached", Value: "1"})
}

// rotate issues new tokens, and waits until the kubelet has written them into the pods and the old tokens have
// expired. Then it cuts every connection that was made with the old tokens.
func rotate(h *hit) {
	old := map[string]string{}
	for _, w := range h.works {
		old[w.pod] = h.kubectl("exec", w.pod, "--", "cat", tokenDir+"/token")
	}
	issueTokens(h.space, h.f, 0)
	for _, w := range h.works {
		// A kubelet checks a pod's volumes when the pod has changed, and otherwise once a minute.
		h.kubectl("annotate", "pod", w.pod, "example.com/look=again")
	}
	for _, w := range h.works {
		h.within(90*time.Second, w.String()+" still has its old token", func() bool {
			return h.kubectl("exec", w.pod, "--", "cat", tokenDir+"/token") != old[w.pod]
		})
		h.within(firstToken+90*time.Second, w.String()+"'s old token is still valid", func() bool { return !h.good(old[w.pod]) })
	}
	cluster(h.t, append([]string{"apiserver", "cut"}, h.launcherIPs()...)...)
	h.back = time.Now()
	h.relinked()
}

// good reports whether the API server accepts the token.
func (h *hit) good(token string) bool {
	review, err := kubectlCall{namespace: h.name, stdin: []byte(`{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":"` +
		token + `"}}`)}.run("create", "-f", "-", "-o", "jsonpath={.status.authenticated}")
	require.NoError(h.t, err)
	return review == "true"
}

// within polls once a second until ok returns true.
func (h *hit) within(limit time.Duration, otherwise string, ok func() bool) {
	h.t.Helper()
	for deadline := time.Now().Add(limit); !ok(); time.Sleep(time.Second) {
		require.True(h.t, time.Now().Before(deadline), otherwise)
	}
}

// breakWorkers covers lost workers, with jobs that do not survive the loss.
func breakWorkers(t *testing.T, f *faults) {
	const soon = 30 * time.Second
	for _, row := range []fault{
		{event: "a worker's container restarted", limit: soon, victim: victimRestarts, strike: kill(victimRestarts)},
		{event: "PID 1 of a worker killed from the node", limit: soon, victim: victimDies, strike: kill(victimDies)},
		{event: "a worker's pod deleted", limit: soon, victim: victimDeleted, strike: deleteOne},
		{event: "a rank killed for its memory", limit: soon, victim: victimEats, strike: eat},
		{event: "a node drained", limit: soon, victim: -1, strike: drain, after: checkpoints},
		{event: "a node lost (powered off)", limit: 90 * time.Second, victim: -1, strike: powerOff, after: oneOfTheNode},
	} {
		t.Run(row.event, func(t *testing.T) { row.run(t, f) })
	}
}

// kill kills PID 1 of a worker of each job from the node. On cgroup v2, the kernel does the same if a container
// uses too much memory.
func kill(victim int) func(h *hit) {
	return func(h *hit) {
		killFirst(h.t, h.f.workerPods(h.space, victim)...)
	}
}

func deleteOne(h *hit) {
	for _, w := range h.works {
		h.kubectl("delete", "pod", w.j.workerName(victimDeleted), "--wait=false")
	}
}

// eat makes the rank of a worker use more memory than its container may have.
func eat(h *hit) {
	for _, w := range h.works {
		h.kubectl("exec", w.j.workerName(victimEats), "--", "touch", "/tmp/eat")
	}
}

// drain drains the jobs' pods from a node with kubectl drain.
func drain(h *hit) {
	for _, left := range clearCheckpoints(h) {
		require.NoError(h.t, os.Remove(left))
	}
	h.t.Cleanup(func() { h.kubectl("uncordon", faultNode) })
	_, err := h.try(50*time.Second, "drain", faultNode, "--force", "--ignore-daemonsets", "--delete-emptydir-data",
		"--pod-selector="+faultLabel+"=yes", "--timeout=45s")
	require.NoError(h.t, err)
}

func clearCheckpoints(h *hit) []string {
	h.t.Helper()
	files, err := filepath.Glob(filepath.Join(h.f.ckpt, "*-worker-*"))
	require.NoError(h.t, err)
	return files
}

// checkpoints requires that every rank and session of the drained node wrote its checkpoint.
func checkpoints(h *hit, table *faultTable) []figure.Row {
	written := map[string]bool{}
	for _, file := range clearCheckpoints(h) {
		written[filepath.Base(file)] = true
	}
	missing := 0
	for _, w := range h.works {
		for i := 1; i < w.j.workers; i += 2 {
			if !written[w.j.workerName(i)] {
				missing++
				h.t.Logf("%s wrote no checkpoint", w.j.workerName(i))
			}
		}
	}
	table.Extra = missing
	oneOfTheNode(h, table)
	return []figure.Row{{Name: "checkpoints missing", Op: "==", Bar: 0, Log: "extra"}}
}

// powerOff turns off a node, which then sends no FIN and no RST.
func powerOff(h *hit) {
	h.t.Cleanup(func() {
		if out, err := clusterVerb("node", "on", faultNode); err != nil {
			h.t.Errorf("%v\n%s", err, out)
		}
	})
	cluster(h.t, "node", "off", faultNode)
}

// oneOfTheNode requires that every launcher named a worker of that node.
func oneOfTheNode(h *hit, table *faultTable) []figure.Row {
	for i, w := range h.works {
		named := false
		for _, word := range strings.Fields(table.Cases[i].Sees) {
			for n := 1; n < w.j.workers; n += 2 {
				named = named || strings.Trim(word, ":,;") == w.j.workerName(n)
			}
		}
		if !named {
			h.t.Errorf("%s: %q names no worker of %s", w, table.Cases[i].Sees, faultNode)
		}
	}
	return nil
}
