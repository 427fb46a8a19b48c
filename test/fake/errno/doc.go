// Command errno shows that a failing system call does not make a job hang, or end with a 0 that was not earned.
//
//	go run ./test/fake/errno                        all runs, several at once
//	go run ./test/fake/errno -subset 40 -seed 5     some of the short runs, chosen by a seed
//	go run ./test/fake/errno -only pid1/accept -v   the runs of a cell
//
// # Runs
//
// A run is a small job over real processes. One kind of system call fails in one role with one errno at one moment
// (cell.go). The roles are a fake worker's PID 1, the launcher from its start, the broker, and the barrier. The
// broker is the launcher while it serves `agent rsh`, and the barrier is rank 0 of `agent join`. The tool strace(1)
// makes the calls of the role's own threads fail, and detaches from children at execve. It counts the calls of each
// thread, so "the first" may fail once in each thread. A filter of seccomp(2) makes only those forks fail that do
// not make a thread.
//
// Every run ends in one of these ways:
//
//	"-"     the role never makes the call, or not often enough
//	ok      the job ended with 0, and all of its work was done
//	fails   the job ended with another code
//	crash   the Go runtime ended the role: it cannot run without threads or epoll
//	waits   a write got EAGAIN although there was room, and waits for an event that never comes (trace.go).
//	        make stall has pipes and sockets that are really full
//	PANIC   our own code ended the role with a panic
//	ALIVE   PID 1 could no longer accept connections, and did not end with 70
//	LEFT    processes of the job were still running after a further limit
//	HANG    the job had not ended after the limit
//	FALSE0  the job ended with 0, but work is missing
//
// A cell of the table shows its worst run. If a run ends in one of the last five ways, the command fails.
//
// # What it needs
//
// It needs Linux, root or the right to trace one's own processes, strace 6 or newer (for --detach-on), and the
// binaries of `make build`. In $MUSTER_OUT, errno.json has every run, and SUITE.json the figures.
package main
