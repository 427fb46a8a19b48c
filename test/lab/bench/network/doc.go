// Package network measures a launch over the pod network with thousands of workers, on one machine:
//
//	make bench-network SIZES=1000,3000,10000
//
// The launcher is bin/agent, and its API server is test/fakekube. Workers are real session servers with
// real listeners and relays, each at a loopback address of its own. A hundred of them share one process,
// the farm, because a process for each does not fit into memory. Each farm has namespaces of its own, so
// that its workers see few other processes. Ranks are real processes: a shell that prints a line.
//
// TestRestart has a rank fail when all have begun. TestCutWorkers closes the connections of 1 % of the
// workers, relays among them, and requires each line of each rank, once and in order.
//
// Times are from the launcher's start to the arrival of the last rank's line. A worker is counted as
// ended if its launcher told it that the job is over.
package network
