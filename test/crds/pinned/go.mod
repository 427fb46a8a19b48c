module github.com/musterhq/muster/test/crds/pinned

go 1.26.0

require (
	github.com/kubeflow/mpi-operator v0.6.0
	github.com/kubeflow/trainer/v2 v2.0.0
)
