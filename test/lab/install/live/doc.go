// Package live installs the controller on a real cluster in the three ways of
// docs/operations/install.md, and checks the result:
//
//	make e2e-install
//
// Each way starts on a cluster without the LaunchJob kind. One job runs to its end.
// Another job is running when the controller is uninstalled. It continues, ends, and
// the next controller takes it over. Other tests check the chart's values and upgrades, the
// death of the leader, and the rights of a controller for one namespace.
//
// make e2e-release does the same with two releases, which the nodes pull from a registry of this machine. It
// upgrades from one to the other and rolls back while a job runs. Their commands come by krew and pip.
//
// A cluster has one LaunchJob kind and, by default, one controller. So these tests
// run one after the other, and not at the same time as other tests that need the controller. They
// refuse to run on a cluster with other jobs, and remove the
// controller and the kind at the end. Helm is built from its module (test/lab/install/helm).
package live
