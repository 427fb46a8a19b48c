//go:build linux

package main

import (
	"context"
	"path/filepath"

	"github.com/musterhq/muster/test/lab/operator"
	"github.com/musterhq/muster/test/suite/program"
)

// trainingOperator are the files of its custom resources.
func trainingOperator(ctx context.Context) ([]string, error) {
	m := program.Module{Dir: "test/lab/kubeflow", Path: "github.com/kubeflow/training-operator", Commands: []string{"pkg/apis/kubeflow.org/v1"}}
	dir, err := m.Source(ctx)
	if err != nil {
		return nil, err
	}
	return filepath.Glob(filepath.Join(dir, "manifests", "base", "crds", "kubeflow.org_*.yaml"))
}

// operate starts mpi-operator for all namespaces.
func (w *world) operate(ctx context.Context) (*program.Process, error) {
	return operator.StartMPI(ctx, filepath.Join(w.out, "raw", "serve-mpi-operator.log"), w.ns)
}
