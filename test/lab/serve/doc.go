// Command serve tests that Kubeflow's kinds are served in place (agent/serve), on the cluster of
// test/lab/cluster, with the custom resources of training-operator v1.8.1 and mpi-operator
// v0.6.0.
//
//	eval "$(go -C test/lab/cluster run . env)"
//	test/lab/run serve              all rows
//	test/lab/run serve -rows pytorch,beside
//	test/lab/run serve -list
//
// # Operators
//
// The custom resources come with the modules, which test/lab/kubeflow/go.mod and
// mpioperator/go.mod pin. Both projects have a CRD mpijobs.kubeflow.org, each with its own
// version, so a cluster can have only one of them: each row says which. mpi-operator
// itself is built once and runs as a process of this machine with the administrator's
// kubeconfig during the row beside. training-operator does not run: the conditions that it
// writes are known from its source, and are in agent/serve/testdata.
//
// # Rows
//
// A row (main.go) has a namespace of its own, labeled muster.dev/serve, and the
// controller of images/deploy-kubeflow. It applies manifests of testdata as for
// their own operator. It checks everything that a user, a dashboard or a script
// reads: conditions, counts, columns, names and labels of pods, Services, the
// environment, logs. Observations are saved in raw/serve-ROW.json of $MUSTER_OUT. If a row
// fails, the command fails.
//
// The row sdk runs test/lab/serve/testdata/sdk.py in a pod of images/frameworks: kubeflow-training 1.9.4
// and PyTorch from PyPI (test/lab/frameworks -venv), mounted from the nodes.
package main
