// Package network measures a launch over the pod network with thousands of workers, on one machine:
//
//	make bench-network SIZES=1000,3000,10000
//
// The launcher is bin/agent, and its API server is test/fakekube. Workers are real session servers with
// real listeners and relays, each at a loopback address of its own. A process, the farm, has 25 of them,
// because a process for each does not fit into memory. The first worker, a relay, is alone in its farm, so
// that its memory can be measured. Each farm has namespaces of its own, so that its workers see few other
// processes. Ranks are real processes: a shell that prints a line.
//
// TestRestart has a rank fail when all have begun. TestCutWorkers closes the connections of 1 % of the
// workers, relays among them, and requires each line of each rank, once and in order. TestKilledWorkers
// kills the processes of 1 % of the workers.
//
// Times are from the launcher's start to the arrival of the last rank's line. A worker is counted as
// ended if its launcher told it that the job is over.
package network
