//go:build linux

// Package operator runs mpi-operator v0.6.0 as a process of this machine, and installs the custom
// resources of Kubeflow's operators. The module that pins mpi-operator is test/lab/serve/mpioperator.
package operator

import (
	"context"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/test/suite/kube"
	"github.com/musterhq/muster/test/suite/program"
)

// MPI returns the module of mpi-operator. Its paths are relative to the repository's root.
func MPI() program.Module {
	return program.Module{Dir: "test/lab/serve/mpioperator", Path: "github.com/kubeflow/mpi-operator", Name: "mpi-operator", Commands: []string{"cmd/mpi-operator"}}
}

// MPIKinds returns the file of mpi-operator's custom resource.
func MPIKinds(ctx context.Context) ([]string, error) {
	dir, err := MPI().Source(ctx)
	return []string{filepath.Join(dir, "manifests", "base", "kubeflow.org_mpijobs.yaml")}, err
}

// Define applies custom resources and waits until they are served.
func Define(ctx context.Context, files []string) error {
	for _, f := range files {
		if _, err := kube.Kubectl(ctx, corev1.NamespaceDefault, nil, "apply", "--server-side", "--force-conflicts", "-f", f); err != nil {
			return err
		}
	}
	for _, f := range files {
		if err := kube.Served(ctx, "-f", f); err != nil {
			return err
		}
	}
	return nil
}

// Undefine deletes all of Kubeflow's custom resources, with their objects.
func Undefine(ctx context.Context) error {
	args := []string{"delete", "--ignore-not-found", "--wait", "--timeout=60s", "crd"}
	for _, name := range []string{"pytorchjobs", "tfjobs", "mpijobs", "xgboostjobs", "paddlejobs", "jaxjobs", "mxjobs"} {
		args = append(args, name+".kubeflow.org")
	}
	_, err := kube.Kubectl(ctx, corev1.NamespaceDefault, nil, args...)
	return err
}

// StartMPI starts mpi-operator for all namespaces with the administrator's rights. Its output goes
// to the file log. Its lease is in the namespace lock.
func StartMPI(ctx context.Context, log, lock string) (*program.Process, error) {
	dir, err := MPI().Build(ctx)
	if err != nil {
		return nil, err
	}
	return program.Start(log, []string{"GOMAXPROCS=2"}, filepath.Join(dir, "mpi-operator"),
		"--kubeConfig", os.Getenv("KUBECONFIG"), "--lock-namespace", lock, "-alsologtostderr")
}
