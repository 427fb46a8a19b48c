package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"sigs.k8s.io/yaml"

	"github.com/musterhq/muster/agent/kubeflow"
)

// source is a CRD in another project's module.
type source struct {
	pin, module, file string // directory of the go.mod below test/lab, path of the module, file in the module
}

// subject is one kind to walk.
type subject struct {
	name    string
	crd     source
	version string
	least   string // the smallest object, as YAML
	runtime bool   // it is the runtime of a TrainJob
}

const (
	container = `{name: main, image: registry.example.com/a:1, command: [torchrun, t.py]}`
	pods      = `template: {spec: {containers: [` + container + `]}}`
	launcher  = `template: {spec: {containers: [{name: main, image: registry.example.com/a:1, command: [mpirun, a]}, {name: side, image: b, command: [mpirun, b]}]}}`
	worker    = `replicas: 2, template: {spec: {containers: [{name: main, image: registry.example.com/a:1}, {name: side, image: b}]}}`
	nodes     = `template: {spec: {containers: [{name: node, image: a, command: [torchrun, t.py]}], initContainers: [{name: init, image: c}]}}`
)

func mpiJob(version string) string {
	return "{apiVersion: kubeflow.org/" + version + ", kind: MPIJob, metadata: {name: least}, spec: {mpiReplicaSpecs: {Launcher: {" + launcher + "}, Worker: {" + worker + "}}}}"
}

func job(kind, specs string, types ...string) string {
	all := ""
	for _, t := range types {
		all += t + ": {replicas: 1, " + pods + "}, "
	}
	return "{apiVersion: kubeflow.org/v1, kind: " + kind + ", metadata: {name: least}, spec: {" + specs + ": {" + all + "}}}"
}

// Smallest objects. leastRuntime is the runtime of leastTrainJob.
const (
	leastRuntime = `{apiVersion: trainer.kubeflow.org/v1alpha1, kind: ClusterTrainingRuntime,
  spec: {mlPolicy: {torch: {}}, template: {spec: {replicatedJobs: [{name: node, template: {spec: {` + nodes + `}}}]}}}}`
	leastMPIRuntime = `{apiVersion: trainer.kubeflow.org/v1alpha1, kind: ClusterTrainingRuntime,
  spec: {mlPolicy: {mpi: {}}, template: {spec: {replicatedJobs: [{name: launcher, template: {spec: {template: {spec: {containers: [{name: node, image: a, command: [mpirun, a]}]}}}}}, {name: node, template: {spec: {template: {spec: {containers: [{name: node, image: a}]}}}}}]}}}}`
	leastTrainJob = `{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: least}, spec: {runtimeRef: {name: least},
  podSpecOverrides: [{targetJobs: [{name: node}], containers: [{name: node}], initContainers: [{name: init}]}]}}`
	leastVolcano = `{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: least}, spec: {tasks: [{name: a, replicas: 2, ` + pods + `}]}}`
)

func subjects() []subject {
	training := func(kind string) source {
		return source{"kubeflow", "github.com/kubeflow/training-operator", "manifests/base/crds/kubeflow.org_" + kind + ".yaml"}
	}
	newer := func(kind string) source {
		s := training(kind)
		s.pin = "kubeflow/jax"
		return s
	}
	trainer := func(kind string) source {
		return source{"crds/pinned", "github.com/kubeflow/trainer/v2", "manifests/base/crds/trainer.kubeflow.org_" + kind + ".yaml"}
	}
	old := source{file: "old.yaml"}
	return []subject{
		{"MPIJob v1alpha1", old, "v1alpha1", "{apiVersion: kubeflow.org/v1alpha1, kind: MPIJob, metadata: {name: least}, spec: {replicas: 2, " + launcher + "}}", false},
		{"MPIJob v1alpha2", old, "v1alpha2", mpiJob("v1alpha2"), false},
		{"MPIJob v1", training("mpijobs"), "v1", mpiJob("v1"), false},
		{"MPIJob v2beta1", source{"crds/pinned", "github.com/kubeflow/mpi-operator", "manifests/base/kubeflow.org_mpijobs.yaml"}, "v2beta1", mpiJob("v2beta1"), false},
		{"PyTorchJob", training("pytorchjobs"), "v1", job("PyTorchJob", "pytorchReplicaSpecs", "Master", "Worker"), false},
		{"TFJob", training("tfjobs"), "v1", job("TFJob", "tfReplicaSpecs", "PS", "Worker"), false},
		{"XGBoostJob", training("xgboostjobs"), "v1", job("XGBoostJob", "xgbReplicaSpecs", "Master", "Worker"), false},
		{"PaddleJob", training("paddlejobs"), "v1", job("PaddleJob", "paddleReplicaSpecs", "Master", "Worker"), false},
		{"MXJob", training("mxjobs"), "v1", job("MXJob", "mxReplicaSpecs", "Scheduler", "Server", "Worker"), false},
		{"JAXJob", newer("jaxjobs"), "v1", job("JAXJob", "jaxReplicaSpecs", "Worker"), false},
		{"PyTorchJob of 1.9", newer("pytorchjobs"), "v1", job("PyTorchJob", "pytorchReplicaSpecs", "Worker"), false},
		{"MPIJob v1 of 1.9", newer("mpijobs"), "v1", mpiJob("v1"), false},
		{"TrainJob", trainer("trainjobs"), "v1alpha1", leastTrainJob, false},
		{"ClusterTrainingRuntime", trainer("clustertrainingruntimes"), "v1alpha1", leastRuntime, true},
		{"ClusterTrainingRuntime for MPI", trainer("clustertrainingruntimes"), "v1alpha1", leastMPIRuntime, true},
		{"Volcano Job", source{"gang/volcano", "volcano.sh/volcano", "config/crd/volcano/bases/batch.volcano.sh_jobs.yaml"}, "v1alpha1", leastVolcano, false},
	}
}

// walk walks the fields of the subject.
func (s subject) walk(test string) ([]walked, error) {
	crd, err := s.crd.read(test)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	schema, err := version(crd, s.version)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	least := parse(s.least)
	do, prefix := func(object any) kubeflow.Result {
		return kubeflow.Convert(object.(map[string]any), kubeflow.Options{Runtimes: map[string]map[string]any{"ClusterTrainingRuntime/least": parse(leastRuntime)}})
	}, ""
	if s.runtime {
		prefix = "runtime."
		do = func(object any) kubeflow.Result {
			return kubeflow.Convert(parse(leastTrainJob), kubeflow.Options{Runtimes: map[string]map[string]any{"ClusterTrainingRuntime/least": object.(map[string]any)}})
		}
	}
	all, err := walk(schema, least, prefix, do)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	return all, nil
}

// parse parses one of the objects above.
func parse(text string) map[string]any {
	docs, err := kubeflow.Read(newReader(text))
	if err != nil || len(docs) != 1 {
		panic(fmt.Sprintf("%s: %v", text, err))
	}
	return docs[0].Object
}

// read reads the CRD from the module cache, where go mod download puts it.
func (s source) read(test string) (map[string]any, error) {
	dir, err := s.dir(test)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, s.file)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var crd map[string]any
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if s.module != "" {
		return crd, nil
	}
	return s.withTemplates(test, crd)
}

// dir returns the directory of the module's files.
func (s source) dir(test string) (string, error) {
	if s.module == "" {
		return filepath.Join(test, "crds"), nil
	}
	cmd := exec.Command("go", "mod", "download", "-json", s.module)
	cmd.Dir = filepath.Join(test, s.pin)
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly")
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("find module %s: %w", s.module, err)
	}
	var found struct{ Dir string }
	if err := json.Unmarshal(out, &found); err != nil {
		return "", fmt.Errorf("find module %s: %w", s.module, err)
	}
	return found.Dir, nil
}

// withTemplates replaces the placeholders in old.yaml by the pod template of MPIJob v1.
func (s source) withTemplates(test string, crd map[string]any) (map[string]any, error) {
	v1, err := source{"kubeflow", "github.com/kubeflow/training-operator", "manifests/base/crds/kubeflow.org_mpijobs.yaml"}.read(test)
	if err != nil {
		return nil, err
	}
	all, err := version(v1, "v1")
	if err != nil {
		return nil, err
	}
	template := all.child("properties").child("spec").child("properties").child("mpiReplicaSpecs").child("additionalProperties").child("properties").child("template")
	if len(template) == 0 {
		return nil, fmt.Errorf("MPIJob v1 has no pod template in mpiReplicaSpecs")
	}
	return put(crd, map[string]any(template)).(map[string]any), nil
}

// put replaces each object that has podTemplate: true.
func put(value any, template map[string]any) any {
	switch v := value.(type) {
	case map[string]any:
		if v["podTemplate"] == true {
			return template
		}
		for key := range v {
			v[key] = put(v[key], template)
		}
	case []any:
		for i := range v {
			v[i] = put(v[i], template)
		}
	}
	return value
}
