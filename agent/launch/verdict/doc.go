// Package verdict decides the exit code of a run and the sentence that says why
// it is not the command's. What the launcher has seen comes in as Evidence, or as
// GroupEnd for a group of processes on the workers.
//
// It promises: all of it is pure. The same evidence gives the same Verdict on any
// machine at any time: no clock, no network, no process, no file. An exit code of 0
// stands only when the work was really done, see [Judge].
//
//	evidence.go  what was seen: lost workers, sessions, daemons, ranks
//	judge.go     the exit code of a command in the launcher
//	blame.go     where a failure began, by what the workers saw
//	words.go     where it began, by what mpirun said
//	group.go     the exit code of a group
//	script.go    of a command that starts mpiruns
//	starter.go   of one that starts launchers such as deepspeed
//	alone.go     of one that has used no worker
//	advice.go    hints that follow from a command line or an exit code
package verdict
