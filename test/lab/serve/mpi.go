//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/musterhq/muster/test/suite/kube"
)

const mpiEnd = "Created=True(MPIJobCreated) Running=False(MPIJobRunning) Succeeded=True(MPIJobSucceeded)"

// mpiV1 runs an MPIJob whose mpirun would have gone by kubectl exec.
func mpiV1(ctx context.Context, w *world) error {
	if err := w.mpi(ctx, "mpijob-v1.yaml", "NAME STATE|tensorflow-benchmarks Succeeded", `{"Launcher":{"succeeded":1},"Worker":{"succeeded":2}}`); err != nil {
		return err
	}
	w.see("mpirun's ranks ran on both workers; conditions, counts and columns of training-operator")
	return nil
}

// mpiV2 runs an MPIJob whose mpirun would have gone by ssh: nothing of it is changed.
func mpiV2(ctx context.Context, w *world) error {
	if err := w.mpi(ctx, "mpijob-v2beta1.yaml", "NAME|tensorflow-benchmarks", `{"Launcher":{"succeeded":1},"Worker":{}}`); err != nil {
		return err
	}
	w.see("no sshd ran, mpirun's ranks ran on both workers; conditions, counts and columns of mpi-operator")
	return nil
}

// mpi runs tensorflow-benchmarks, in an image without the agent, on GPUs.
func (w *world) mpi(ctx context.Context, file, columns, counts string) (err error) {
	const name, object = "tensorflow-benchmarks", "mpijob/tensorflow-benchmarks"
	if err := kube.GPUs(ctx, gpuNode, gpus); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kube.GPUs(context.WithoutCancel(ctx), gpuNode, 0)) }()
	if err := w.apply(ctx, file, "NAME", name); err != nil {
		return err
	}
	o, text, err := w.succeeds(ctx, object)
	if err != nil {
		return err
	}
	said, err2 := kube.Kubectl(ctx, w.ns, nil, "logs", name+"-launcher")
	for _, want := range []string{"ranks on [('" + name + "-worker-0', 'INFO'), ('" + name + "-worker-1', 'INFO')]", "total images/sec: 221.25"} {
		if !strings.Contains(said, want) {
			err = errors.Join(err, fmt.Errorf("want %q, have:\n%s", want, said))
		}
	}
	// Under either operator a job that is over before its pods were seen to run was never Running.
	ran := strings.Replace(conditions(o), "Running=False(MPIJobRunning) ", "", 1)
	return errors.Join(err, err2, same("columns", columns, text), same("counts", counts, replicas(o)),
		same("conditions", strings.Replace(mpiEnd, "Running=False(MPIJobRunning) ", "", 1), ran))
}

// dryRun: the controller prints, and nothing else happens.
func dryRun(ctx context.Context, w *world) error {
	if err := w.apply(ctx, "pytorchjob.yaml", "NAME", "digits"); err != nil {
		return err
	}
	before, err := w.get(ctx, "pytorchjob/digits")
	if err != nil {
		return err
	}
	err = eventually(ctx, 60*time.Second, func() error {
		text, err := kube.Kubectl(ctx, system, nil, "logs", "-l", "app.kubernetes.io/name=muster-controller", "-c", "controller", "--tail=-1")
		if err == nil && !strings.Contains(text, "# dry run: PyTorchJob "+w.ns+"/digits would become this\n") {
			err = fmt.Errorf("nothing was printed: %s", text)
		}
		return err
	})
	if err != nil {
		return err
	}
	time.Sleep(3 * time.Second) // for what must not happen there is nothing to wait for
	after, err := w.get(ctx, "pytorchjob/digits")
	if err != nil {
		return err
	}
	left, err := w.names(ctx, "launchjobs,pods,services,events")
	w.see("a LaunchJob was printed; no object, no event, and not one write to the PyTorchJob")
	return errors.Join(err, same("its version", before.GetResourceVersion(), after.GetResourceVersion()), same("what was made", "", left))
}
