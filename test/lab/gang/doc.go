// Command gang runs LaunchJobs under real gang schedulers, on the cluster of
// test/lab/cluster: Volcano, the coscheduling plugin of scheduler-plugins, Kueue, and
// Kubernetes' own.
//
//	eval "$(go -C test/lab/cluster run . env)"
//	test/lab/run gang              all rows
//	test/lab/run gang -rows volcano,absent
//	test/lab/run gang -list
//
// # Schedulers
//
// Each scheduler is a module of its own below this folder, which pins it with its checksums
// (volcano/go.mod, coscheduling/go.mod, ../kueue/pinned/go.mod). It is built once, into the
// cluster's directory, and runs as processes of this machine with the administrator's
// kubeconfig during the rows that need it. Its CRDs come from its module. Processes and
// custom resources are removed after the row. Kueue's webhooks are called only for its own kinds
// (test/lab/kueue/manager). If a run was killed, the next one removes everything that it
// left behind (scheduler.go).
//
// # GPUs
//
// node1 gets four nvidia.com/gpu in its status, as from a device plugin.
// No program uses them. It only matters that the
// schedulers, the kubelet and quotas count them.
//
// # Rows
//
// Rows of Kubernetes' own gangs (own.go) exist only where the cluster serves PodGroup v1beta1, from
// Kubernetes 1.37 on.
//
// Each row (main.go) has a namespace of its own and the controller of images/deploy, and
// defines what must be observed. The state of pods and jobs in the API server is
// sampled four times a second, and saved in raw/gang-ROW.json in
// $MUSTER_OUT, with the output of kubectl. The schedulers' output is in
// raw/gang-PROGRAM.log. Figures go into SUITE.json (main.go). If a row fails,
// the command fails.
package main
