// Package live installs the controller on a real cluster in the three ways that
// docs/operations/install.md tells, and looks at what is there afterwards:
//
//	make e2e-install
//
// Each way begins on a cluster that knows no LaunchJob. A job runs to its end;
// another is in its middle when the controller is uninstalled, goes on, ends, and
// is taken up by the next controller. Then the chart's values and upgrades, the
// leader's death, and what a controller for one namespace may do outside of it.
//
// A cluster has one LaunchJob kind and, by default, one controller. So these tests
// run one after the other and beside no other test that needs the controller; they
// refuse a cluster with jobs that are not theirs, and leave neither the
// controller nor the kind. Helm is built from its module (test/lab/install/helm).
package live
