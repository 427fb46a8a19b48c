// Command steady measures what Muster costs while ranks compute: it compares the same mpirun over the
// same kind of pods with Muster and without.
//
//	eval "$(go -C test/lab/cluster run . env)"
//	test/lab/run bench/steady
//
// # With and without
//
// With Muster: agent run in the launcher's pod, agent worker as PID 1 of the workers, and daemons
// started over pods/exec. Without: PID 1 is a shell that waits in a read. It
// gets the commands of daemons as lines in a FIFO (testdata/worker.sh, rsh.sh), so only
// Open MPI runs beside the ranks. Both use the same image, the same mpirun and
// the same parameters, which agent run exports, except the remote shell
// and the list of hosts. Both jobs exist all the time. Stopping the agents of one
// (SIGSTOP) would end their links after 12 s, and the work of API server, kubelet and containerd
// for that would disturb the next run.
//
// # Loads
//
// The times of equal runs differ by several percent, with every load, because other load on the
// machine and its neighbors changes within seconds. So both jobs start at the same time, and
// their ranks compute in turn, for at most a second each. Meanwhile the other job's ranks sleep on a lock
// (arm.go, testdata/gate.h).
//
// HPL is from Debian's hpcc: 2 ranks on 2 workers, timed by its own clock. The jobs solve one problem each in turn, and
// are launched again after a dozen. Each solution is a sample.
//
// testdata/allreduce.c is a loop over 20 ranks on 20 workers. It yields the processor while it
// waits (mpi_yield_when_idle), as there are fewer processors. A slice with eleven ranks on
// one processor and nine on the other takes a tenth longer. That happens at
// random, so a sample is the sum of fifty slices. Samples count when the jobs are older than the minute after
// which the links of Open MPI 4 are parked. Earlier samples are a figure of their own.
//
// An agent is in the cgroup of its rank. If ten ranks share a processor and each
// waits for all, the agents' CPU time may count ten times. So the loop shows a larger effect than
// ranks with processors of their own would.
//
// The figure is the ratio of medians. The notes give its 95 % confidence interval
// (bootstrap over the pairs).
//
// # CPU time of an agent
//
// It is measured while the loop's samples count: the scheduler's count in nanoseconds for
// all threads of PID 1 and of agent attach, by worker, divided by the elapsed time.
package main
