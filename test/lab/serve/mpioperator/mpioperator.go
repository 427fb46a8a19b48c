//go:build tools

// Package mpioperator pins the mpi-operator that test/lab/serve runs together with the
// controller, and whose custom resource it applies. Nothing is compiled from this
// package: its import keeps the command in go.mod and go.sum.
package mpioperator

import _ "github.com/kubeflow/mpi-operator/cmd/mpi-operator"
