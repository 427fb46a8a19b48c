// Command errno shows that a failing system call neither hangs a job nor makes it
// end with a 0 that was not earned.
//
//	go run ./test/fake/errno                        all runs, several at once
//	go run ./test/fake/errno -subset 40 -seed 5     some of the short ones, chosen by a seed
//	go run ./test/fake/errno -only pid1/accept -v   those of a cell
//
// # Runs
//
// A run is a small job over real processes, in which one kind of system call fails in one
// role with one errno at one moment (cell.go). The roles are a fake worker's PID 1, the
// launcher from its start, the broker (the launcher while it serves `agent rsh`), and the
// barrier (rank 0 of `agent join`). strace(1) makes the calls of the role's own threads
// fail, and lets a child go at execve. Counts of calls are those of one thread, so "the
// first" may fail once in each. A filter of seccomp(2) makes the forks fail that make no
// thread.
//
// Every run ends in one of these ways:
//
//	"-"     the role never makes the call, or not so often
//	ok      the job ended with 0, and all of its work was done
//	fails   the job ended with another code
//	crash   the Go runtime ended the role: it cannot live without threads or epoll
//	PANIC   our own code ended the role by a panic
//	ALIVE   PID 1 could accept no connection any more, and did not end with 70
//	LEFT    processes of the job were still there a limit later
//	HANG    the job had not ended after the limit
//	FALSE0  the job ended with 0, and work is missing
//
// A cell of the table has the worst of its runs. The last five fail the command.
//
// # What it needs
//
// Linux, root or the right to trace one's own processes, strace 6 or newer (for
// --detach-on), and the binaries of `make build`. errno.json in $MUSTER_OUT has every
// run; SUITE.json the figures.
package main
