// Command launch measures how long a launch takes, and what it costs, beside what
// people use now, on the cluster of test/lab/cluster:
//
//	eval "$(go -C test/lab/cluster run . env)"
//	test/lab/run bench/launch                        all of it: make bench-launch
//	test/lab/run bench/launch -workers 2 -rounds 1   a small piece
//
// It needs root on the machine that the nodes run on, the image of
// `images/build.sh bench` on the nodes, and nobody else on the cluster.
//
// # Contenders
//
// All have the same image, the same pods as workers, the same mpirun of Open MPI 4.1
// and the same ranks: `sh -c 'echo rank N; exec sleep 3'`, one a worker, which is no MPI
// program, because MPI_Init costs the same whoever has launched it.
//
//	kubexec         kubectl exec as mpi-operator v1 calls it, names in the launcher's hosts file
//	kubexec-unknown the same with names that nobody knows: mpirun looks up each of them
//	kubexec-slowdns the same with a DNS that takes half a second to say so
//	ssh             sshd in the workers as mpi-operator v2 has it, by address
//	muster          agent run
//	nsenter         mpirun's own floor: an agent that enters the workers' namespaces
//	exec            not mpirun: one process that opens an exec of `true` for each worker at once
//
// A contender is a script in a launcher's container, which this program enters by its
// namespaces and cgroup, so that no stream of ours goes through the API server. The script
// gets ready (rendezvous, or a wait for the workers), says so, and waits for a word; then
// it becomes mpirun. Contenders take turns. The first round warms up; in it, and only in
// it, the launcher's memory is sampled all along, since that costs the processor time.
//
// # Ready
//
// The second table is the time from the last worker's Ready, as a watch of ours sees it,
// to the last rank's line, with workers made anew for each contender and round, each with
// its own PID 1: sleep, sshd, agent worker. The launcher is there before. For kubexec
// and ssh it watches the pods as kubectl-delivery does and goes on at once with the hostfile in
// place: no init container that has to end, no retries after a failed mpirun, no name that is not
// known yet. That is kinder than either operator.
//
// # What is counted
//
// CPU is that of the launcher's container, by its cgroup. Memory is the sum of the
// proportional set sizes (PSS) of its processes. Requests are the lines of the API
// server's audit log with the launcher's service account; open streams are
// apiserver_longrunning_requests for pods/exec, a second after the last rank's line.
//
// Whatever was made is taken away at the end, also after an error.
package main
