// Package fake tests `agent run --fake` with real MPIs. Its tests run the built binaries, mpirun.openmpi and
// mpiexec.mpich as a user would. They check ranks and their sessions, bytes, exit codes, messages, the JSON of
// --report, and the processes that are left.
//
// The tests have the build tag mpi because they need Open MPI, MPICH, mpi4py for both, a C compiler, rsync, git and
// pdsh. They also need OpenSSH's scp, sftp and sftp-server, but no sshd. test/fake/mpi/deps.sh --test installs all of
// them. If one is missing, the tests fail with a message. They are never skipped.
//
//	go test -tags mpi -parallel 4 ./test/fake     mostly waits
//	MUSTER_BIN=bin test/fake/unprivileged.sh fake.test   runs the tests again, as nobody
//
// $MUSTER_BIN names a directory with agent and agent-launcher. By default the tests build them. $MUSTER_PROGRAMS
// names the sources of test/fake/mpi. By default they are beside this package. All other files go to the directory
// of temporary files, so the current directory need not be writable.
//
// Every run has its own environment, marked with FAKE_TEST=ID. After each run the test searches /proc for processes
// with that mark, and fails if there is one. A test cannot inspect processes of other users, so tests that change
// the user are not here.
//
// # Scripts
//
// Tests that only run commands and check output, exit codes, files and reports are scripts of testdata/scripts, for
// github.com/rogpeppe/go-internal/testscript. They have these commands besides those of testscript:
//
//	run CODES [NAME=VALUE...] FLAGS... -- COMMAND...     runs agent run with a report until it ends
//	start [NAME=VALUE...] FLAGS... -- COMMAND...         starts the same job in the background
//	call, bad CODES [NAME=VALUE...] WORDS...             runs another command; bad expects it to be refused
//	ends CODES, signal NAME, drain N, up FILE..., awaits stdout|stderr TEXT
//	                                                     for the running job
//	report PATH ==|>=|<|has|len|atleast VALUE, says TEXT, took ATLEAST ATMOST,
//	ranks HOST=N..., world N, sees N, innocent           for the job that has ended
//	zero CODE WORDS [NAME=VALUE...] FLAGS... -- COMMAND...
//	                                                     run with launchers that exit 0
//
// CODES are separated by "|". "!0" is any code but 0, and "any" is any code. @WORDS is replaced by its words, of
// which there may be none. $MPIRUN, $RANK (the name of a variable), $ACT, $HELLO and $PI are those of the MPI. The
// conditions [openmpi] and [mpich] are true for that MPI.
//
// Times are asserted only where the product promises them (a killed worker is noticed within 10 s). How fast an
// idle worker stops, and what core binding costs, are figures: see test/suite.
package fake
