// Package verdict decides the exit code of a run, and the sentence that explains why it differs
// from the command's. Its input is what the launcher has seen: Evidence for a command in the
// launcher, or GroupEnd for a group of processes on the workers.
//
// Guarantees: the package is pure. The same evidence gives the same Verdict on any machine at any
// time, without clock, network, process or file. An exit code of 0 stands only if the work was
// really done, see [Judge].
//
//	evidence.go  what was seen: lost workers, sessions, daemons, ranks
//	judge.go     the exit code of a command in the launcher
//	blame.go     where a failure began, from what the workers saw
//	words.go     where a failure began, from what mpirun said
//	group.go     the exit code of a group
//	script.go    the exit code of a command that starts mpiruns
//	starter.go   the exit code of a command that starts launchers such as deepspeed
//	alone.go     the exit code of a command that used no worker
//	advice.go    hints for a command line or an exit code
package verdict
