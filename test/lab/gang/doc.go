// Command gang shows LaunchJobs under real gang schedulers, on the cluster of
// test/lab/cluster: Volcano, the coscheduling plugin of scheduler-plugins, and Kueue.
//
//	eval "$(go -C test/lab/cluster run . env)"
//	test/lab/run gang              all rows
//	test/lab/run gang -rows volcano,absent
//	test/lab/run gang -list
//
// # Schedulers
//
// Each is a module of its own below this folder, which pins it with its sums
// (volcano/go.mod, coscheduling/go.mod, kueue/go.mod). It is built once, into the
// cluster's directory, and runs as processes of this machine with the administrator's
// kubeconfig while a row wants it. Its custom resources are those of its module. Both
// are gone when the row has ended. Kueue's webhooks see the pods of our
// namespaces alone (kueue.go). What a run that was killed has left, the next one
// takes away (scheduler.go).
//
// # GPUs
//
// node1 gets four nvidia.com/gpu in its status, as a device plugin would give it.
// Nothing uses them; that they are counted is what matters, and the
// schedulers, the kubelet and quotas count them.
//
// # Rows
//
// A row (main.go) has a namespace of its own and the controller of images/deploy, and
// says what has to be seen. What the API server says about pods and jobs is
// sampled four times a second all the while, and kept: raw/gang-ROW.json in
// $MUSTER_OUT, with what kubectl prints; the schedulers' own words are in
// raw/gang-PROGRAM.log. Figures go into SUITE.json (main.go). A row that did not
// go as it says fails the command.
package main
