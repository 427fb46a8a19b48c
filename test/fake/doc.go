// Package fake proves `agent run --fake` with real MPIs: its tests run the
// built binaries, mpirun.openmpi and mpiexec.mpich as a user would, and look at
// what came out: ranks and the sessions they are in, bytes, exit codes,
// sentences, the JSON of --report, and the processes that are left.
//
// They carry the build tag mpi, for they need Open MPI, MPICH, mpi4py for both,
// a C compiler, rsync, git, pdsh and OpenSSH's scp, sftp and sftp-server
// (test/fake/mpi/deps.sh --test installs them; no sshd). A missing one is a
// failure with a sentence, never a skip.
//
//	go test -tags mpi -parallel 4 ./test/fake     much of it waits
//	MUSTER_BIN=bin test/fake/unprivileged.sh fake.test   a second time, as nobody
//
// $MUSTER_BIN names a directory with agent and agent-launcher; without it they
// are built. $MUSTER_PROGRAMS names the sources of test/fake/mpi; without it they
// are looked for beside this package. Everything else goes to the directory of
// temporary files: the current directory need not be writable.
//
// Every run has an environment of its own, marked with FAKE_TEST=ID; after each
// one the test looks through /proc for processes with that mark and fails when
// there is one. As processes of other users cannot be looked at, tests that
// change the user are not here.
//
// # Scripts
//
// Tests that only run commands and read words, codes, files and reports are scripts
// of testdata/scripts, for github.com/rogpeppe/go-internal/testscript. Besides its
// own, they have these commands:
//
//	run CODES [NAME=VALUE...] FLAGS... -- COMMAND...     agent run with a report, to its end
//	start [NAME=VALUE...] FLAGS... -- COMMAND...         the same, and goes on beside it
//	call, bad CODES [NAME=VALUE...] WORDS...             another command; bad: it is refused
//	ends CODES, signal NAME, drain N, up FILE..., awaits stdout|stderr TEXT
//	                                                     of the job that runs
//	report PATH ==|>=|<|has|len|atleast VALUE, says TEXT, took ATLEAST ATMOST,
//	ranks HOST=N..., world N, sees N, innocent           of the job that has ended
//	zero CODE WORDS [NAME=VALUE...] FLAGS... -- COMMAND...
//	                                                     run among launchers that say 0
//
// CODES are separated by "|"; "!0" is any but 0, "any" is any. @WORDS are several words, or none. $MPIRUN, $RANK (a variable's name), $ACT, $HELLO and
// $PI are those of the MPI; [openmpi] and [mpich] tell which one plays.
//
// Times are asserted only where the product promises them (a killed worker is
// noticed within 10 s). How fast an idle worker stops, and what core binding
// costs, are figures: see test/suite.
package fake
