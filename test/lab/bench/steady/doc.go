// Command steady measures what Muster costs while ranks compute: the same mpirun over the
// same kind of pods with Muster around it and without, in turn.
//
//	eval "$(go -C test/lab/cluster run . env)"
//	test/lab/run bench/steady
//
// # With and without
//
// With: agent run in the launcher's pod, agent worker as PID 1 of the others, daemons
// started over pods/exec. Without: PID 1 is a shell that sits in a read, and
// daemons come to it as lines in a FIFO (testdata/worker.sh, rsh.sh), so that nothing
// but Open MPI is there while ranks run. Both have the same image, the same mpirun and
// the same parameters: those that agent run exports, but for the remote shell
// and the list of hosts. Both jobs are there all the time: to stop the agents of one
// (SIGSTOP) would end their links after 12 s, and what API server, kubelet and containerd
// do about that falls into the next run.
//
// # Loads
//
// Runs differ by several percent with nothing changed, whatever they compute: what else the
// machine and its neighbours do comes and goes within seconds. So both jobs start at once, and
// their ranks compute for a second at most in turn, asleep in front of a lock otherwise
// (arm.go, testdata/gate.h).
//
// HPL of Debian's hpcc, 2 ranks on 2 workers, by its own clock: a solution each in turn, and
// a new launch after a dozen. Each solution is a sample.
//
// testdata/allreduce.c, a loop over 20 ranks on 20 workers which gives way when it
// waits (mpi_yield_when_idle), as there are fewer processors. A slice with eleven ranks on
// one processor and nine on the other takes a tenth longer, and which slices those are is
// chance: fifty make a sample. Samples count when the jobs are older than the minute after
// which the links of Open MPI 4 are parked; those before are a figure of their own.
//
// An agent is in the control group of its rank. Where ten ranks share a processor and each
// waits for all, what an agent takes may be taken ten times over: the loop shows more than
// ranks with processors of their own would.
//
// The figure is the ratio of medians; the notes give the interval in which it lies in 95
// of 100 samples of the same pairs (bootstrap).
//
// # CPU time of an agent
//
// While the loop's samples count: the scheduler's own count in nanoseconds for
// all threads of PID 1 and of agent attach, by worker, over the time that passed.
package main
