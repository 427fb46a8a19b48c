// Command hold measures the load of a running job on the API server, on the cluster
// of test/lab/cluster.
//
//	eval "$(go -C test/lab/cluster run . env)"
//	test/lab/run bench/hold                          make bench-hold
//	test/lab/run bench/hold -workers 20 -rounds 1 -only muster
//
// # A run
//
// Worker pods start. When all of them have been running for a while, the API server's
// own metrics are read. Then the launcher's pod is created: mpirun of Open MPI 4 starts a rank
// on each worker, which prints a line and sleeps. The metrics are read again when all ranks
// have printed, and two minutes after that. The job must then end by itself and succeed.
// Its requests are counted in the API server's audit log, by the service
// account that only the launcher has.
//
// # Contenders
//
// All contenders use the same image and the same ranks, and take turns (run.go). A run
// takes less than three minutes. attached and flat run once, at the first size:
//
//	muster    agent run and agent worker, with their defaults
//	attached  the same, with mpirun --leave-session-attached: each daemon keeps its
//	          stream for the job's life, as under Open MPI 5, MPICH and Intel MPI. The worst case
//	kubexec   kubexec.sh and kubectl with mpi-operator v1's settings
//	flat      the same with Muster's settings: mpirun starts all daemons itself, and they detach
//
// # Metrics
//
// Streams are the API server's gauge of long-running pods/exec requests. Goroutines
// and memory are differences from the first reading, and include one more pod. Memory is
// the live heap after a garbage collection, which each reading requests, plus
// stacks. The resident set, also in the table, changes slowly and in jumps.
package main
