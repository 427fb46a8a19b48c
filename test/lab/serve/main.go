//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/musterhq/muster/test/lab/operator"
	"github.com/musterhq/muster/test/lab/table"
	"github.com/musterhq/muster/test/suite/kube"
)

func main() {
	bin := flag.String("bin", "bin", "use agent-launcher in `DIR`")
	p := table.Program{Name: "serve", Begin: sweep, End: sweep, Build: func(ctx context.Context) error {
		_, err := operator.MPI().Build(ctx)
		_, err2 := volcano().Build(ctx) // here, because a row has five minutes
		return errors.Join(err, err2)
	}}
	for _, r := range rows() {
		p.Rows = append(p.Rows, table.Row{Key: r.key, What: r.what, Play: func(ctx context.Context, out string) ([]string, error) {
			w := &world{row: r, bin: *bin, out: out, raw: map[string]any{}}
			err := play(ctx, w)
			return w.seen, errors.Join(err, w.record(err == nil))
		}})
	}
	p.Main()
}

// play runs a row, and removes everything that it created. The controller is restarted for each row, so that it
// finds the row's kinds.
func play(ctx context.Context, w *world) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	after := context.WithoutCancel(ctx)
	files, err := w.row.crds(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(operator.Undefine(ctx), operator.Define(ctx, files)); err != nil {
		return err
	}
	if err := w.deploy(ctx); err != nil {
		return err
	}
	if err := w.open(ctx); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			said, _ := kube.Kubectl(after, w.ns, nil, "get", "lj,pods", "-o", "wide")
			happened, _ := kube.Kubectl(after, w.ns, nil, "get", "events", "--sort-by=.lastTimestamp")
			logs, _ := kube.Kubectl(after, system, nil, "logs", "deployment/muster-controller", "-c", "controller", "--tail=30")
			err = fmt.Errorf("%w\n%s\n%s\n%s", err, said, happened, logs)
		}
		err = errors.Join(err, w.close(after))
	}()
	return w.row.play(ctx, w)
}

// sweep removes everything that a killed run left behind, and the kinds.
func sweep(ctx context.Context) error {
	_, err := kube.Kubectl(ctx, "default", nil, "delete", "namespace", "-l", owner, "--timeout=90s")
	return errors.Join(err, operator.Undefine(ctx))
}

// row is a test in a namespace of its own.
type row struct {
	key  string // name on the command line
	what string
	crds func(context.Context) ([]string, error) // files of the custom resources
	mode string                                  // --serve-kubeflow of the controller; "": on
	play func(ctx context.Context, w *world) error
}

func rows() []row {
	return []row{
		{key: "benchmarks", what: "tensorflow-benchmarks of v1alpha2, converted, into an image without the agent", crds: noKinds, play: benchmarks},
		{key: "pytorch", what: "a PyTorchJob: suspended, resumed, to its end, deleted", crds: trainingOperator, play: pytorch},
		{key: "tfjob", what: "a TFJob with Ps, Chief and Worker, scheduled by Volcano", crds: trainingOperator, play: tensorflow},
		{key: "mpi-v1", what: "an MPIJob of training-operator", crds: trainingOperator, play: mpiV1},
		{key: "dry-run", what: "a controller that only prints what it would do", crds: trainingOperator, mode: "dry-run", play: dryRun},
		{key: "sdk", what: "Kubeflow's own Python SDK: a PyTorchJob from a function, a TFJob, an MPIJob", crds: trainingOperator, play: sdk},
		{key: "off-and-on", what: "a kind that the cluster gets later; serving turned off under a running job, and on again", crds: noneYet, play: offAndOn},
		{key: "mpi-v2beta1", what: "an MPIJob of mpi-operator, with sshd", crds: operator.MPIKinds, play: mpiV2},
		{key: "beside", what: "with mpi-operator: objects stay with their owner, a namespace moves to Muster and back", crds: operator.MPIKinds, play: beside},
	}
}
