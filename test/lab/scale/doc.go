// Command scale measures what LaunchJobs cost, on the cluster of test/lab/cluster.
//
//	eval "$(go -C test/lab/cluster run . env)"
//	test/lab/run scale                      all of it: make e2e-scale
//	test/lab/run scale -only launches       real jobs
//	test/lab/run scale -only many           200 jobs on nodes that kwok plays
//
// # Launches
//
// Twenty times, one after the other, an Open MPI job of 20 workers is applied and
// runs to its end. The time from apply to the first rank's line is divided by what
// this program sees of the pods, with the same watch that the launcher has, and by
// the launcher's own lines as containerd has stamped them:
//
//	scheduling        apply             ... the last pod has a node (the controller's work is in it)
//	container start   from there        ... the last container is reported as running
//	rendezvous        from there        ... "20/20 ready"
//	launch            from there        ... the first rank's line: mpirun, its daemons, MPI_Init
//
// No request of the controller, of a launcher, or of anybody with a token of the
// namespace may have been answered with 403.
//
// # Many
//
// kwok (package test/lab/kwok) plays four nodes: their pods run at once, and do nothing. Five
// jobs of four pods, one after the other, say what one job costs; then 200 are applied
// together. Launchers are played too, so that the jobs do not end: Running is what is
// measured.
//
// # The controller
//
// It is bin/controller, a process of this machine with a token of its own service
// account, and so with the rights that images/deploy gives it and no others. Where the
// cluster has it as a Deployment, that has no pod for the time. Memory is the peak of
// its resident set (VmHWM), CPU its user and system time, both by /proc. Requests
// are counted in the API server's audit log.
//
// Whatever was made is taken away at the end, also after an error.
package main
