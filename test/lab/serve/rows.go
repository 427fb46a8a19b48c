//go:build linux

package main

import (
	"context"

	"github.com/musterhq/muster/test/lab/operator"
)

// row is what happens in a namespace, and what has to be seen.
type row struct {
	key  string // on the command line
	what string
	crds func(context.Context) ([]string, error) // of whom
	mode string                                  // of the controller; "": on
	play func(ctx context.Context, w *world) error
}

func rows() []row {
	return []row{
		{key: "benchmarks", what: "tensorflow-benchmarks of v1alpha2, converted, into an image without the agent", crds: noKinds, play: benchmarks},
		{key: "pytorch", what: "a PyTorchJob: suspended, resumed, to its end, deleted", crds: trainingOperator, play: pytorch},
		{key: "tfjob", what: "a TFJob with Ps, Chief and Worker, scheduled by Volcano", crds: trainingOperator, play: tensorflow},
		{key: "mpi-v1", what: "an MPIJob of training-operator", crds: trainingOperator, play: mpiV1},
		{key: "dry-run", what: "a controller that says what it would do", crds: trainingOperator, mode: "dry-run", play: dryRun},
		{key: "sdk", what: "Kubeflow's own Python SDK: a PyTorchJob from a function, a TFJob, an MPIJob", crds: trainingOperator, play: sdk},
		{key: "off-and-on", what: "a kind that the cluster gets later; serving turned off under a running job, and on again", crds: noneYet, play: offAndOn},
		{key: "mpi-v2beta1", what: "an MPIJob of mpi-operator, with sshd", crds: operator.MPIKinds, play: mpiV2},
		{key: "beside", what: "mpi-operator beside: objects stay with their owner, a namespace moves over and back", crds: operator.MPIKinds, play: beside},
	}
}
