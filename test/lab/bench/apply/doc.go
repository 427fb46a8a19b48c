// Command apply measures how long an MPI job takes from its object to its ranks: under
// mpi-operator v0.6.0, and as a LaunchJob, on the cluster of test/lab/cluster.
//
//	eval "$(go -C test/lab/cluster run . env)"
//	test/lab/run bench/apply                         make bench-apply
//	test/lab/run bench/apply -workers 2 -rounds 1
//
// # Contenders
//
// Jobs have the same image, which lies on both nodes, and the same mpirun; each rank prints
// a line (testdata). They take turns, one job after the other, none of another's beside it:
//
//	LaunchJob      our controller, with the rights that images/deploy gives it
//	mpi-operator   with its own defaults: the launcher starts with its workers, and is
//	               begun again when it does not find them
//	... waiting    the same with launcherCreationPolicy: WaitForWorkersReady
//
// Both operators are processes of this machine (test/lab/operator, test/lab/measure) and run all the
// time; mpi-operator's client has its default limit of 5 requests a second.
//
// # What is seen
//
// Lines have containerd's stamps, by this machine's clock, which is that of the nodes.
// Succeeded is seen by a watch. Requests are those of the operator and of the job's own
// service accounts, by the API server's audit log: not the kubelets', the scheduler's,
// or those of Kubernetes' own controllers, which make the launcher's pod of an MPIJob.
package main
