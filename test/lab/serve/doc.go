// Command serve shows Kubeflow's kinds served in place (agent/serve), on the cluster of
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
// mpioperator/go.mod pin. Both projects call theirs mpijobs.kubeflow.org, each with a
// version of its own, so that a cluster has one of them: each row says whose. mpi-operator
// itself is built once and runs as a process of this machine with the administrator's
// kubeconfig while the row beside wants it. training-operator does not run: what it
// writes is known from its source, and stands in agent/serve/testdata.
//
// # Rows
//
// A row (main.go) has a namespace of its own, labelled muster.dev/serve, and the
// controller of images/deploy-kubeflow. It applies manifests of testdata as they would
// be applied to their own operator, and looks at what a user, a dashboard or a script
// looks at: conditions, counts, columns, names and labels of pods, Services, the
// environment, logs. What was seen stays in raw/serve-ROW.json of $MUSTER_OUT. A row that
// did not go as it says fails the command.
//
// The row sdk runs test/lab/serve/testdata/sdk.py in a pod of images/frameworks: kubeflow-training 1.9.4
// and PyTorch from PyPI (test/lab/frameworks -venv), mounted from the nodes.
package main
