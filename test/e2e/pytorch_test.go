//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/test/suite/care"
	"github.com/musterhq/muster/test/suite/figure"
)

const scriptsDir = "/scripts"

// torchRank is what a rank of the scripts prints (test/lab/frameworks/scripts/seen.py).
type torchRank struct {
	Framework  string
	Rank       int
	World      int
	Sum        int
	Hosts      []string
	Losses     []float64
	Same       *bool
	Local      *int
	LocalWorld int `json:"local_world"`
}

// debianTorch returns a volume with Debian's /usr and PyTorch 1.13.1.
func debianTorch(t *testing.T) corev1.Volume {
	t.Helper()
	cmd := exec.Command("sh", "torch.sh")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err, "Debian's python3-torch")
	directory := corev1.HostPathDirectory
	return corev1.Volume{Name: "usr", VolumeSource: corev1.VolumeSource{
		HostPath: &corev1.HostPathVolumeSource{Path: strings.TrimSpace(string(out)), Type: &directory}}}
}

// torchScripts returns a ConfigMap and a volume with scripts of test/lab/frameworks.
func torchScripts(t *testing.T, names ...string) (corev1.ConfigMap, corev1.Volume) {
	t.Helper()
	files := corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: "scripts"}, Data: map[string]string{}}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join("..", "lab", "frameworks", "scripts", name))
		require.NoError(t, err)
		files.Data[name] = string(text)
	}
	return files, corev1.Volume{Name: files.Name, VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: files.Name}}}}
}

// TestTorch runs Debian 12's PyTorch 1.13.1 over gloo, with 3 workers of 2 processes on both nodes, started by
// agent run: an all-reduce, and DDP, whose loss must fall. A script that trains alone would exit with 0 too, so
// each rank prints the world that it has seen.
func TestTorch(t *testing.T) {
	t.Parallel()
	usr := debianTorch(t)
	for _, c := range []struct{ name, script string }{{"plain", "torch_sum.py"}, {"ddp", "torch_ddp.py"}} {
		t.Run(c.name, func(t *testing.T) {
			s := newSpaceWith(t, "privileged") // privileged, for volumes with files of the node
			files, scripts := torchScripts(t, c.script, "seen.py")
			const libraries = "/usr/lib/x86_64-linux-gnu"
			j := job{name: "torch", image: "openmpi", workers: 3, slots: 2, flags: []string{"--framework=torch", "--procs-per-worker=2", "--output=plain"},
				command: []string{"python3", path.Join(scriptsDir, c.script)},
				edit: func(pod *corev1.Pod) {
					if !isWorker(pod) {
						return
					}
					pod.Spec.Volumes = append(pod.Spec.Volumes, usr, scripts)
					one := first(pod)
					one.VolumeMounts = append(one.VolumeMounts, corev1.VolumeMount{Name: usr.Name, MountPath: "/usr", ReadOnly: true},
						corev1.VolumeMount{Name: scripts.Name, MountPath: scriptsDir, ReadOnly: true})
					// Debian's alternatives for these two are in /etc.
					one.Env = append(one.Env, corev1.EnvVar{Name: "LD_LIBRARY_PATH", Value: libraries + "/blas:" + libraries + "/lapack"})
				}}
			s.apply(append([]any{files}, j.objects(t)...)...)
			end := s.end("torch-launcher", 4*time.Minute)
			require.Zero(t, end.code, end.log)
			nodes := map[string]bool{}
			for _, pod := range s.pods() {
				if isWorker(&pod) {
					nodes[pod.Spec.NodeName] = true
				}
			}
			require.Len(t, nodes, 2, "workers on both nodes")
			var whole, losses []float64
			for _, r := range torchRanks(t, end.log, 6) {
				whole = append(whole, float64(r.World))
				if c.name == "ddp" {
					require.Len(t, r.Losses, 2)
					require.True(t, *r.Same, "rank %d has a different model", r.Rank)
					losses = append(losses, r.Losses[1]/r.Losses[0])
					continue
				}
				require.Equal(t, 2, r.LocalWorld)
			}
			name := "Debian's PyTorch 1.13.1, " + c.name + ", 3 workers of 2: the world that each rank saw"
			record(t, figure.Row{Name: name, Op: "==", Bar: 6}, map[string]figure.Series{name: {Unit: "ranks", Reduce: "min", Samples: whole}})
			if losses != nil {
				name = "Debian's PyTorch 1.13.1, ddp: last loss over the first"
				record(t, figure.Row{Name: name, Op: "<=", Bar: 0.5}, map[string]figure.Series{name: {Unit: "ratio", Reduce: "max", Samples: losses}})
			}
		})
	}
}

// torchRanks returns the n ranks in the log, in order. It requires that they are in one world, with the sum of all
// ranks and the same hosts, two ranks on each of three hosts.
func torchRanks(t *testing.T, log string, n int) []torchRank {
	t.Helper()
	var all []torchRank
	for line := range strings.Lines(log) {
		var r torchRank
		if json.Unmarshal([]byte(line), &r) == nil && r.Framework == "torch" {
			all = append(all, r)
		}
	}
	require.Len(t, all, n, log)
	slices.SortFunc(all, func(a, b torchRank) int { return a.Rank - b.Rank })
	for i, r := range all {
		require.Equal(t, i, r.Rank)
		require.Equal(t, n, r.World)
		require.Equal(t, n*(n+1)/2, r.Sum)
		require.Equal(t, all[0].Hosts, r.Hosts)
	}
	hosts := slices.Sorted(slices.Values(all[0].Hosts))
	require.Equal(t, []string{"torch-worker-0", "torch-worker-0", "torch-worker-1", "torch-worker-1", "torch-worker-2", "torch-worker-2"}, hosts)
	return all
}

// submitRole returns the Role of docs/guides/submit.md.
func submitRole(t *testing.T) map[string]any {
	t.Helper()
	page, err := os.ReadFile("../../docs/guides/submit.md")
	require.NoError(t, err)
	block := regexp.MustCompile("(?s)```yaml\n(apiVersion: rbac.*?)```").FindSubmatch(page)
	require.NotNil(t, block)
	var role map[string]any
	require.NoError(t, yaml.Unmarshal(block[1], &role))
	return role
}

// withScript mounts a program of test/suite/care at /scripts, and an empty directory to work in.
func withScript(j *v1alpha1.LaunchJob) {
	for _, pod := range []*corev1.PodSpec{&j.Spec.Launcher.Template.Spec, &j.Spec.Roles[0].Template.Spec} {
		pod.Volumes = append(pod.Volumes,
			corev1.Volume{Name: "scripts", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "scripts"}}}},
			corev1.Volume{Name: "work", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
		own := &pod.Containers[0]
		own.VolumeMounts = append(own.VolumeMounts, corev1.VolumeMount{Name: "scripts", MountPath: scriptsDir}, corev1.VolumeMount{Name: "work", MountPath: "/work"})
		own.WorkingDir = "/work"
	}
}

// TestCareStacks runs three ranks, of which one hangs. `agent stacks JOB` on a user's machine names that rank with
// its line. The rights of docs/guides/submit.md are enough. Without pods/exec, a message names the missing right.
func TestCareStacks(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	withController(t)
	source, err := care.Source("hung.py")
	require.NoError(t, err)
	role := submitRole(t)
	s.kubectl("create", "serviceaccount", "person")
	s.kubectl("create", "serviceaccount", "reader")
	s.kubectl("create", "role", "reader", "--verb=get,list", "--resource=pods,launchjobs.muster.dev")
	s.apply(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "scripts"}, "data": map[string]string{"hung.py": string(source)}}, role)
	s.kubectl("create", "rolebinding", "person", "--role=submit-jobs", "--serviceaccount="+s.name+":person")
	s.kubectl("create", "rolebinding", "reader", "--role=reader", "--serviceaccount="+s.name+":reader")
	command := []string{"sh", "-c", "HUNG_HOST=$MASTER_ADDR exec python3 " + scriptsDir + "/hung.py plain sleep 0 29555"}
	alone := launchJob(t, "alone", nil, withWorkers(1))
	alone.Spec.Launcher, alone.Spec.Framework = nil, "plain"
	alone.Spec.Roles[0].Template.Spec.Containers[0].Command = []string{"sleep", "300"}
	s.launch(launchJob(t, "bert", command, withWorkers(3), withScript, func(j *v1alpha1.LaunchJob) { j.Spec.Framework = "plain" }), alone)
	agent, person, reader := cli(t), s.configFor("person"), s.configFor("reader")
	log := s.follow("bert-launcher")
	for range 3 {
		log.until(2*time.Minute, "is there")
	}

	// The ranks have met, and need a moment until they wait.
	var end typed
	require.Eventually(t, func() bool {
		end = s.agent(agent, time.Minute, "stacks", "--kubeconfig", person, "bert")
		return end.code == 0 && strings.Contains(end.out, "rank 1 on bert-worker-1 is not waiting")
	}, 30*time.Second, time.Second, "%v", &end)
	t.Log(end.out)
	require.Regexp(t, `(?m)^ranks 0, 2 are waiting .*; rank 1 on bert-worker-1 is not waiting: sleeping at hung\.py:\d+ load_batch$`, end.out)
	require.Regexp(t, `(?m)^ +rank 1 on bert-worker-1: sleeping at hung\.py:\d+ load_batch \(python3?, pid \d+`, end.out)
	require.Regexp(t, `(?m)^ +File "/scripts/hung\.py", line \d+ in load_batch$`, end.out)
	one := s.agent(agent, time.Minute, "stacks", "--kubeconfig", person, "bert", "2")
	require.Zero(t, one.code, one.err)
	require.Contains(t, one.out, "rank 2 on bert-worker-2")
	require.NotContains(t, one.out, "load_batch")

	refused := s.agent(agent, time.Minute, "stacks", "--kubeconfig", reader, "bert")
	require.Equal(t, names.ExitForbidden, refused.code, refused.err)
	require.Contains(t, refused.err, "pods/exec")
	s.becomes("alone", time.Minute, "running", inPhase(v1alpha1.PhaseRunning))
	none := s.agent(agent, time.Minute, "stacks", "--kubeconfig", person, "alone")
	require.Equal(t, names.ExitUsage, none.code, none.err)
	require.Contains(t, none.err, "agent: alone has no launcher: only a launcher can ask all ranks\n")
}
