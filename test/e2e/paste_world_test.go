//go:build e2e

package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// world is what a page leaves to its reader: programs, files, objects.
type world struct {
	files   map[string]string // beside the page's own
	words   []string          // old, new: before those of standIns
	before  string            // commands
	prepare func(*space)
}

// standIns are the images and programs of the pages' examples, and the hardware.
func standIns(namespace string) []string {
	return []string{
		"registry.example.com/pi:1", image("openmpi"), "registry.example.com/train:1", image("openmpi"),
		"repo/pi:1", image("openmpi"), "repo/bert:2", image("openmpi"),
		"/opt/pi", "/opt/muster-test/pi", "mpirun, ./pi", "mpirun, /opt/muster-test/pi", "mpirun ./pi", "mpirun /opt/muster-test/pi",
		"mpirun ./solver", "mpirun /opt/muster-test/pi",
		"limits: {nvidia.com/gpu: 8}", "requests: {cpu: 10m}", // the cluster has none
		"namespace research", "namespace " + namespace, "-n research", "-n " + namespace,
		"--timeout=5m", "--timeout=100s", "--timeout=1h", "--timeout=200s",
	}
}

const (
	printMetrics = `python3 -c 'print("images/sec: 215.3 accuracy=0.5")'`
	mnist        = `apiVersion: kubeflow.org/v1
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

// worldOf is what the page needs besides standIns.
func worldOf(name string) world {
	train := map[string]string{"train.py": "import os\nprint(os.environ['JAX_PROCESS_ID'])\n"}
	switch name {
	case "README.md":
		return world{files: train, words: []string{"--procs-per-worker=8 -- python train.py", `--procs-per-worker=2 -- python3 -c 'import os; print(os.environ["RANK"])'`}}
	case "docs/convert.md":
		return world{
			files:  map[string]string{"manifests/a.yaml": strings.ReplaceAll(job1("a"), "replicas: 2, ", "replicas: 2, restartPolicy: Never, "), "mine.yaml": job1("mnist"), "trainjob.yaml": trainJob, "theirs.yaml": trainRuntime},
			before: "kubectl apply -f mine.yaml -f theirs.yaml",
		}
	case "docs/kubeflow.md":
		return world{files: map[string]string{"mine.yaml": job1("digits")}, before: "kubectl apply -f mine.yaml"}
	case "docs/metrics.md":
		return world{files: map[string]string{"train.log": "step 1 images/sec: 215.3\n"}, words: []string{"python train.py", printMetrics}}
	case "docs/migrate/trainer-v2.md":
		return world{before: "kubectl apply -f train.yaml"} // as somebody has it who comes from there
	case "docs/python.md":
		return world{before: `python3 -m venv "$(dirname "$(command -v agent)")/venv" && ln -s venv/bin/pip "$(dirname "$(command -v agent)")/pip"`}
	case "docs/submit.md":
		return world{
			prepare: func(s *space) { s.corpus(); s.gitServer(`echo trained`) },
			words: []string{" --gpus=8", "", "https://example.com/team/bert.git", "git://git/train.git --sync-branch=dev --sync-image=" + image("git"),
				"python code/bert/train.py", "sh code/train/train.sh"},
		}
	}
	return world{}
}

// corpus is the claim with the data of docs/submit.md, and a volume for it.
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

// foreignKinds are those of the projects that people come from, for a cluster on which
// their operators are not installed: objects can be made, and nobody looks at them. Kinds
// that are there stay as they are.
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
