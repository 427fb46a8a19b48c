// Command scale measures the cost of LaunchJobs, on the cluster of test/lab/cluster.
//
//	eval "$(go -C test/lab/cluster run . env)"
//	test/lab/run scale                      all of it: make e2e-scale
//	test/lab/run scale -only launches       real jobs
//	test/lab/run scale -only many           200 jobs on nodes that kwok simulates
//	test/lab/run scale -only large          one job of 10,000 pods there: make e2e-scale ONLY=large
//
// # Launches
//
// An Open MPI job of 20 workers is applied and runs to its end, twenty times, one after the other.
// The time from apply to the first rank's line is divided by the states of the pods and by
// the launcher's lines. This program watches the pods like the launcher does, and reads
// the timestamps of the lines in containerd's log:
//
//	scheduling        apply             ... the last pod has a node (includes the controller's work)
//	container start   from there        ... the last container is reported as running
//	rendezvous        from there        ... "20/20 ready"
//	launch            from there        ... the first rank's line: mpirun, its daemons, MPI_Init
//
// No request of the controller, of a launcher, or of another client with a token of the
// namespace may be answered with 403.
//
// # Many
//
// kwok (package test/lab/kwok) simulates four nodes: their pods become Running at once, and do nothing. Five
// jobs of four pods, one after the other, show the cost of one job. Then 200 jobs are applied
// at the same time. Launchers are simulated, too, so the jobs do not end. The measurement ends when all are
// Running.
//
// # Large
//
// One job of 10,000 pods is applied. It is not part of "all of it".
//
// # The controller
//
// The controller is bin/controller, a process of this machine with a token of its own service
// account, and so with only the rights that images/deploy gives it. If the
// cluster has a Deployment of the controller, it is scaled to zero meanwhile. Memory is the peak of
// the resident set (VmHWM), and CPU is user and system time, both from /proc. Requests
// are counted in the API server's audit log.
//
// Everything that was created is deleted at the end, also after an error.
package main
