//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/test/suite/kube"
	"github.com/musterhq/muster/test/suite/page"
	"github.com/musterhq/muster/test/suite/program"
)

// agentDir builds the agent from this checkout, for the pasted commands.
func agentDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, program.Own(dir, nil, "agent", "agent-launcher", "agent-exporter"))
	return dir
}

// home writes a kubeconfig with the space's namespace, and returns its path.
func (s *space) home(dir string) string {
	s.t.Helper()
	text, err := s.try(time.Minute, "config", "view", "--raw", "--flatten")
	require.NoError(s.t, err)
	path := filepath.Join(dir, "kubeconfig")
	require.NoError(s.t, os.WriteFile(path, []byte(text), 0o600))
	_, err = s.try(time.Minute, "--kubeconfig="+path, "config", "set-context", "--current", "--namespace="+s.name)
	require.NoError(s.t, err)
	return path
}

// shell runs lines as a user would type them: in dir, with agent and kubectl, in the namespace.
func (s *space) shell(dir, bin, kubeconfig, lines string) (string, error) {
	ctx, stop := context.WithTimeout(s.t.Context(), 4*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", lines)
	cmd.Dir, cmd.WaitDelay = dir, 5*time.Second
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "NAMESPACE="+s.name,
		"PATH="+bin+":"+filepath.Dir(kube.Path())+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// checkout copies the current files of the repository. In the copy, our images replace the released ones.
func checkout(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "sh", "-c", `cd ../.. && git ls-files -coz --exclude-standard | tar --null --ignore-failed-read -T - -c | tar -x -C "$0"`, dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, name := range []string{"images/install.yaml", "images/deploy/controller.yaml"} {
		path := filepath.Join(dir, name)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Contains(t, string(text), released)
		require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(string(text), released, "localhost/")), 0o600))
	}
	return dir
}

// released is the registry of the released images, which no test can pull.
const released = "ghcr.io/musterhq/"

// paste does what a page says, in the order of its blocks. It writes the named manifests and runs the commands.
// Commands for a launcher run in a launcher's pod.
func (s *space) paste(name string, blocks []page.Block, w world) {
	s.t.Helper()
	dir := checkout(s.t)
	bin := agentDir(s.t)
	python, err := exec.LookPath("python3")
	require.NoError(s.t, err)
	require.NoError(s.t, os.Symlink(python, filepath.Join(bin, "python")))
	kubeconfig := s.home(s.t.TempDir())
	for file, text := range w.files {
		require.NoError(s.t, os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755))
		require.NoError(s.t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
	}
	ours := strings.NewReplacer(append(w.words, standIns(s.name)...)...)
	for _, b := range blocks {
		if b.Language == "yaml" && b.Word != "" {
			require.NoError(s.t, os.WriteFile(filepath.Join(dir, b.Word), []byte(ours.Replace(b.Text)), 0o600))
		}
	}
	run := func(at, text string) {
		begin := time.Now()
		out, err := s.shell(dir, bin, kubeconfig, text)
		require.NoError(s.t, err, "%s\n%s\n%s", at, text, out)
		s.t.Logf("%s (%.1f s)\n$ %s%s", at, time.Since(begin).Seconds(), text, out)
	}
	if w.before != "" {
		run(name+", before", ours.Replace(w.before))
	}
	for _, b := range blocks {
		text := b.Commands()
		if text == "" || b.NotRun != "" {
			continue
		}
		if text = ours.Replace(text); b.Word == "launcher" {
			s.pasteInLauncher(b, text)
			continue
		}
		run(b.At(), text)
	}
}

// pasteInLauncher runs commands in the launcher's pod of a new job, in which no agent run has run before.
func (s *space) pasteInLauncher(b page.Block, text string) {
	s.t.Helper()
	j := job{name: fmt.Sprintf("line%d", b.Line), image: "openmpi", workers: 4, slots: 2, edit: func(pod *corev1.Pod) {
		if c := &pod.Spec.Containers[0]; pod.Labels["muster.dev/role"] == "launcher" {
			c.Command, c.Args = []string{"sleep", "600"}, nil
			c.Env = append(c.Env, corev1.EnvVar{Name: "MUSTER_JOB", Value: pod.Labels["muster.dev/job"]})
		}
	}}
	s.start(j)
	s.ready(2*time.Minute, j.launcherName())
	got := s.exec(2*time.Minute, j.launcherName(), "sh", "-ec", `export PATH="/muster:$PATH"; `+text)
	require.Zero(s.t, got.code, "%s\n%s\n%+v", b.At(), text, got)
	s.t.Logf("%s, in a launcher\n$ %s%s%s", b.At(), text, got.stdout, got.stderr)
}

// TestPasteReadme pastes README.md. Its own command installs the controller.
func TestPasteReadme(t *testing.T) {
	pages, err := page.Pages("../..")
	require.NoError(t, err)
	s := newSpaceWith(t, "baseline")
	s.paste("README.md", pages["README.md"], worldOf("README.md"))
	s.kubectl("-n", "muster-system", "rollout", "status", "deployment/muster-controller", "--timeout=60s")
}

// TestPastePages pastes every page of docs, each in a new namespace.
func TestPastePages(t *testing.T) {
	withController(t)
	foreignKinds(t)
	pages, err := page.Pages("../..")
	require.NoError(t, err)
	delete(pages, "README.md")
	for name, blocks := range pages {
		if !slices.ContainsFunc(blocks, func(b page.Block) bool { return b.Commands() != "" && b.NotRun == "" }) {
			continue
		}
		t.Run(strings.TrimSuffix(strings.TrimPrefix(name, "docs/"), ".md"), func(t *testing.T) {
			t.Parallel()
			s := newSpaceWith(t, "baseline") // old images run as root
			w := worldOf(name)
			if w.prepare != nil {
				w.prepare(s)
			}
			s.paste(name, blocks, w)
			if strings.HasPrefix(name, "docs/moving/") && !w.keeps {
				require.Empty(t, s.ljs(), "the page's way back must leave no job")
			}
		})
	}
}

// world is what a page assumes: programs, files and objects.
type world struct {
	files   map[string]string // in addition to the page's own
	words   []string          // pairs of old and new text, applied before those of standIns
	before  string            // commands
	prepare func(*space)
	keeps   bool // the page's jobs stay, because it has no way back
}

// standIns returns replacements for the images, programs and hardware of the pages' examples.
func standIns(namespace string) []string {
	return []string{
		"registry.example.com/pi:1", image("openmpi"), "registry.example.com/train:1", image("openmpi"),
		"repo/pi:1", image("openmpi"), "repo/bert:2", image("openmpi"), "python:3.12-slim", image("openmpi"),
		"/opt/pi", "/opt/muster-test/pi", "mpirun, ./pi", "mpirun, /opt/muster-test/pi", "mpirun ./pi", "mpirun /opt/muster-test/pi",
		"mpirun ./solver", "mpirun /opt/muster-test/pi",
		"limits: {nvidia.com/gpu: 8}", "requests: {cpu: 10m}", // the cluster has no GPUs
		"namespace research", "namespace " + namespace, "-n research", "-n " + namespace,
		"--timeout=5m", "--timeout=100s", "--timeout=1h", "--timeout=200s",
	}
}

const (
	printVariables = "import os\nprint(len(os.environ), 'variables')\n"
	printMetrics   = `python3 -c 'print("images/sec: 215.3 accuracy=0.5")'`
	mnist          = `apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: NAME}
spec:
  pytorchReplicaSpecs:
    Worker: {replicas: 2, template: {spec: {containers: [{name: pytorch, image: "registry.example.com/train:1", command: [python3, train.py]}]}}}
`
	trainJob = `apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: train}
spec: {runtimeRef: {name: torch-distributed}, trainer: {numNodes: 2}}
`
	trainRuntime = `apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: torch-distributed}
spec:
  mlPolicy: {numNodes: 1, torch: {numProcPerNode: 1}}
  template: {spec: {replicatedJobs: [{name: node, template: {metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, spec: {template: {spec: {containers: [{name: node, image: "registry.example.com/train:1", command: [python3, train.py]}]}}}}}]}}
`
)

func job1(name string) string { return strings.ReplaceAll(mnist, "NAME", name) }

// worldOf returns what the page needs besides standIns.
func worldOf(name string) world {
	switch name {
	case "docs/moving/convert.md":
		return world{
			files:  map[string]string{"manifests/a.yaml": strings.ReplaceAll(job1("a"), "replicas: 2, ", "replicas: 2, restartPolicy: Never, "), "mine.yaml": job1("mnist"), "trainjob.yaml": trainJob, "theirs.yaml": trainRuntime},
			before: "kubectl apply -f mine.yaml -f theirs.yaml",
			keeps:  true,
		}
	case "docs/moving/kubeflow.md":
		return world{files: map[string]string{"mine.yaml": job1("digits")}, before: "kubectl apply -f mine.yaml", keeps: true}
	case "docs/guides/metrics.md":
		return world{files: map[string]string{"train.log": "step 1 images/sec: 215.3\n"}, words: []string{"python train.py", printMetrics}}
	case "docs/moving/trainer-v2.md":
		return world{before: "kubectl apply -f train.yaml"} // as a user who moves from there has it
	case "docs/guides/deepspeed.md", "docs/guides/jax.md", "docs/guides/pytorch.md", "docs/guides/tensorflow.md", "docs/guides/xgboost.md":
		return world{files: map[string]string{"train.py": printVariables}}
	case "docs/guides/lightgbm.md":
		return world{files: map[string]string{"train.py": printVariables}, words: []string{"[python, train.py]", "[sh, -c, 'test $LIGHTGBM_NUM_MACHINES = 2']"}}
	case "docs/guides/paddle.md":
		return world{files: map[string]string{"train.py": printVariables}, words: []string{"[python, train.py]", "[sh, -c, 'test $PADDLE_TRAINERS_NUM = 2']"}}
	case "docs/guides/python.md":
		return world{before: `python3 -m venv "$(dirname "$(command -v agent)")/venv" && ln -s venv/bin/pip "$(dirname "$(command -v agent)")/pip"`}
	case "docs/guides/submit.md":
		return world{
			prepare: func(s *space) { s.corpus(); s.gitServer(`echo trained`) },
			words: []string{" --gpus=8", "", "https://example.com/team/bert.git", "git://git/train.git --sync-branch=dev --sync-image=" + image("git"),
				"python code/bert/train.py", "sh code/train/train.sh"},
		}
	}
	return world{}
}

// corpus creates the claim with the data of docs/guides/submit.md, and a volume for it.
func (s *space) corpus() {
	spec := map[string]any{"accessModes": []string{"ReadWriteMany"}, "storageClassName": ""}
	volume := map[string]any{"capacity": map[string]any{"storage": "1Gi"}, "accessModes": spec["accessModes"], "hostPath": map[string]any{"path": "/tmp/corpus", "type": "DirectoryOrCreate"},
		"claimRef": map[string]any{"namespace": s.name, "name": "corpus"}}
	spec["resources"] = map[string]any{"requests": map[string]any{"storage": "1Gi"}}
	spec["volumeName"] = s.name
	s.apply(map[string]any{"apiVersion": "v1", "kind": "PersistentVolume", "metadata": map[string]any{"name": s.name}, "spec": volume},
		map[string]any{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": map[string]any{"name": "corpus"}, "spec": spec})
	s.t.Cleanup(func() {
		if _, err := s.try(time.Minute, "delete", "persistentvolume", s.name, "--wait=false"); err != nil {
			s.t.Log(err)
		}
	})
}

// foreignKinds creates the kinds of the projects that users move from, for a cluster without their operators:
// objects can be created, but no controller watches them. It does not change existing kinds.
func foreignKinds(t *testing.T) {
	t.Helper()
	for _, k := range []struct {
		group, plural, kind, scope string
		versions                   []string
	}{
		{"kubeflow.org", "mpijobs", "MPIJob", "Namespaced", []string{"v1", "v1alpha1", "v2beta1"}},
		{"kubeflow.org", "pytorchjobs", "PyTorchJob", "Namespaced", []string{"v1"}},
		{"trainer.kubeflow.org", "trainjobs", "TrainJob", "Namespaced", []string{"v1alpha1"}},
		{"trainer.kubeflow.org", "clustertrainingruntimes", "ClusterTrainingRuntime", "Cluster", []string{"v1alpha1"}},
		{"batch.volcano.sh", "jobs", "Job", "Namespaced", []string{"v1alpha1"}},
	} {
		name := k.plural + "." + k.group
		if _, err := (kubectlCall{namespace: "default"}).run("get", "crd", name); err == nil {
			continue
		}
		var versions []any
		for i, v := range k.versions {
			versions = append(versions, map[string]any{"name": v, "served": true, "storage": i == 0,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}})
		}
		text, err := json.Marshal(map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
			"metadata": map[string]any{"name": name, "annotations": map[string]string{"api-approved.kubernetes.io": "unapproved, a stand-in"}},
			"spec": map[string]any{"group": k.group, "scope": k.scope, "versions": versions,
				"names": map[string]any{"plural": k.plural, "kind": k.kind, "singular": strings.ToLower(k.kind)}}})
		require.NoError(t, err)
		_, err = kubectlCall{namespace: "default", stdin: text}.run("create", "-f", "-")
		require.NoError(t, err)
		t.Cleanup(func() {
			if _, err := (kubectlCall{namespace: "default"}).run("delete", "crd", name, "--wait=false"); err != nil {
				t.Log(err)
			}
		})
		_, err = kubectlCall{namespace: "default"}.run("wait", "--for=condition=Established", "crd/"+name, "--timeout=60s")
		require.NoError(t, err)
	}
}
