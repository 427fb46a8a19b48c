// Command apply measures the time from applying an MPI job to the first lines of its ranks: under
// mpi-operator v0.6.0, and as a LaunchJob, on the cluster of test/lab/cluster.
//
//	eval "$(go -C test/lab/cluster run . env)"
//	test/lab/run bench/apply                         make bench-apply
//	test/lab/run bench/apply -workers 2 -rounds 1
//
// # Contenders
//
// All jobs use the same image, which is present on both nodes, and the same mpirun; each rank prints
// a line (testdata). The contenders take turns, and only one job runs at a time:
//
//	LaunchJob      our controller, with the rights that images/deploy gives it
//	mpi-operator   with its own defaults: the launcher starts together with its workers, and is
//	               restarted if it does not find them
//	... waiting    the same with launcherCreationPolicy: WaitForWorkersReady
//
// Both operators are processes of this machine (test/lab/operator, test/lab/measure) and run all the
// time. mpi-operator's client has its default limit of 5 requests a second.
//
// # How it is measured
//
// The times of lines are containerd's timestamps. The nodes share this machine's clock.
// A watch reports Succeeded. Requests of the operator and of the job's own service accounts are counted
// in the API server's audit log. Requests of kubelets, the scheduler and Kubernetes' own
// controllers are not counted, although these controllers create the launcher's pod of an MPIJob.
package main
