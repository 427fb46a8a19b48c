// Package tally records what happens in a run: links, sessions, and what PID 1 of the workers
// reports about daemons and ranks. It is the source of the evidence for the verdict and of the
// figures in the report.
//
//	tally.go     links, sessions, lost workers; Testify and Figures
//	calls.go     the sessions of mpiruns
//	job.go       daemons and ranks, and their troubles
//	launched.go  the mpiruns of a command
//	starter.go   launchers such as deepspeed that start sessions by ssh or pdsh
//	refused.go   calls that reached no worker
//
// Guarantees: the package never waits and never starts anything. It sees a process only as a
// Launcher. A Tally is safe for concurrent use.
package tally
