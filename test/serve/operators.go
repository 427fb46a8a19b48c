//go:build linux

package main

import (
	"context"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/test/kube"
	"github.com/musterhq/muster/test/program"
)

func operator() program.Module {
	return program.Module{Dir: "test/serve/mpioperator", Path: "github.com/kubeflow/mpi-operator", Name: "mpi-operator", Commands: []string{"cmd/mpi-operator"}}
}

// trainingOperator and mpiOperator are the files of their custom resources.
func trainingOperator(ctx context.Context) ([]string, error) {
	m := program.Module{Dir: "test/kubeflow", Path: "github.com/kubeflow/training-operator", Commands: []string{"pkg/apis/kubeflow.org/v1"}}
	dir, err := m.Source(ctx)
	if err != nil {
		return nil, err
	}
	return filepath.Glob(filepath.Join(dir, "manifests", "base", "crds", "kubeflow.org_*.yaml"))
}

func mpiOperator(ctx context.Context) ([]string, error) {
	dir, err := operator().Source(ctx)
	return []string{filepath.Join(dir, "manifests", "base", "kubeflow.org_mpijobs.yaml")}, err
}

// define applies custom resources and waits until they are served.
func define(ctx context.Context, files []string) error {
	for _, f := range files {
		if _, err := kube.Kubectl(ctx, corev1.NamespaceDefault, nil, "apply", "--server-side", "--force-conflicts", "-f", f); err != nil {
			return err
		}
	}
	for _, f := range files {
		if _, err := kube.Kubectl(ctx, corev1.NamespaceDefault, nil, "wait", "--for=condition=Established", "--timeout=30s", "-f", f); err != nil {
			return err
		}
	}
	return nil
}

// undefine takes all of Kubeflow's custom resources away, and their objects with them.
func undefine(ctx context.Context) error {
	args := []string{"delete", "--ignore-not-found", "--wait", "--timeout=60s", "crd"}
	for _, name := range []string{"pytorchjobs", "tfjobs", "mpijobs", "xgboostjobs", "paddlejobs", "jaxjobs", "mxjobs"} {
		args = append(args, name+".kubeflow.org")
	}
	_, err := kube.Kubectl(ctx, corev1.NamespaceDefault, nil, args...)
	return err
}

// operate starts mpi-operator for all namespaces.
func (w *world) operate(ctx context.Context) (*program.Process, error) {
	dir, err := operator().Build(ctx)
	if err != nil {
		return nil, err
	}
	log := filepath.Join(w.out, "raw", "serve-mpi-operator.log")
	return program.Start(log, []string{"GOMAXPROCS=2"}, filepath.Join(dir, "mpi-operator"),
		"--kubeConfig", os.Getenv("KUBECONFIG"), "--lock-namespace", w.ns, "-alsologtostderr")
}
