// test/lab/crds reads the CRDs in these modules, where go mod download puts them; nothing is built.
module github.com/musterhq/muster/test/lab/crds/pinned

go 1.26.0

require (
	github.com/kubeflow/mpi-operator v0.6.0
	github.com/kubeflow/trainer/v2 v2.0.0
)
