// Command hold measures what a job costs the API server while it runs, on the cluster
// of test/lab/cluster.
//
//	eval "$(go -C test/lab/cluster run . env)"
//	test/lab/run bench/hold                          make bench-hold
//	test/lab/run bench/hold -workers 20 -rounds 1 -only muster
//
// # A run
//
// Worker pods start, and when all of them have been running for a while the API server's
// own metrics are read. Then the launcher's pod is made: mpirun of Open MPI 4 has a rank
// on each worker that prints a line and sleeps. The metrics are read again when all ranks
// have printed, and two minutes after that. The job then ends by itself, and has to end
// well. What it asked for is counted in the API server's audit log, by the service
// account that only the launcher has.
//
// # Contenders
//
// They have the same image and the same ranks, and take turns (run.go). A run
// takes less than three minutes; attached and flat run once, at the first size:
//
//	muster    agent run, agent worker, and nothing else said
//	attached  the same, with mpirun --leave-session-attached: each daemon keeps its
//	          stream for the job's life, as under Open MPI 5, MPICH and Intel MPI. The worst case
//	kubexec   kubexec.sh and kubectl with what mpi-operator v1 sets
//	flat      the same with what Muster sets: mpirun starts all daemons itself, and they detach
//
// # What is read
//
// Streams are the API server's gauge of requests that last, those of pods/exec. Goroutines
// and memory are differences to the first reading, which include one more pod. Memory is
// what lives on the heap after a garbage collection, which each reading asks for, and
// stacks; the resident set beside it follows slowly and in jumps.
package main
