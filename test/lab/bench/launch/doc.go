// Command launch measures how long a launch takes and what it costs, and compares Muster with
// other ways to launch, on the cluster of test/lab/cluster:
//
//	eval "$(go -C test/lab/cluster run . env)"
//	test/lab/run bench/launch                        all of it: make bench-launch
//	test/lab/run bench/launch -workers 2 -rounds 1   a small piece
//
// It needs root on the machine that the nodes run on, the image of
// `images/build.sh bench` on the nodes, and a cluster with no other load.
//
// # Contenders
//
// All contenders use the same image, the same pods as workers, the same mpirun of Open MPI 4.1
// and the same ranks: `sh -c 'echo rank N; exec sleep 3'`, one for each worker. The ranks are no MPI
// programs, because MPI_Init costs the same with every contender.
//
//	kubexec         kubectl exec as mpi-operator v1 calls it, names in the launcher's hosts file
//	kubexec-unknown the same with names that cannot be resolved: mpirun looks up each of them
//	kubexec-slowdns the same with a DNS server that takes half a second for each name
//	ssh             sshd in the workers with mpi-operator v2's settings, by address
//	muster          agent run
//	nsenter         mpirun's own floor: an agent that enters the workers' namespaces
//	exec            not mpirun: one process that opens an exec of `true` for each worker at once
//
// A contender is a script in a launcher's container. This program enters the container by its
// namespaces and cgroup, so that it adds no stream to the API server. The script
// gets ready (rendezvous, or a wait for the workers), prints "ready", and waits for a line of input; then
// it becomes mpirun. Contenders take turns, in every second round in reverse order. A ratio is the median of
// the ratios of the rounds. The first round is a warm-up. Only in that round the launcher's memory is sampled
// continuously, since sampling takes processor time.
//
// # Ready
//
// The second table is the time from the last worker's Ready, as seen by a separate watch,
// to the last rank's line. Each contender gets new workers in each round, with
// its own PID 1: sleep, sshd, agent worker. The launcher exists before them. For kubexec
// and ssh it watches the pods as kubectl-delivery does, and continues at once with the hostfile in
// place. It waits for no init container, retries no failed mpirun, and needs no name that DNS does not
// know yet. Both operators are slower than that.
//
// # What is counted
//
// CPU is the CPU time of the launcher's container, by its cgroup. Memory is the sum of the
// proportional set sizes (PSS) of its processes. Requests are the lines of the API
// server's audit log with the launcher's service account. Open streams are
// apiserver_longrunning_requests for pods/exec, a second after the last rank's line.
//
// Everything that was created is deleted at the end, also after an error.
package main
