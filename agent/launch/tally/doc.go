// Package tally keeps the account of a run: links, sessions, and what PID 1 of the
// workers reports of daemons and ranks. It is where the evidence for the verdict and the
// figures of the report come from.
//
//	tally.go     links, sessions, lost workers; Testify and Figures
//	calls.go     the sessions of mpiruns
//	job.go       daemons and ranks, and the trouble that they are in
//	launched.go  the mpiruns of a command
//	starter.go   launchers such as deepspeed that start sessions by ssh or pdsh
//	refused.go   calls that reached no worker
//
// It promises: it waits for nothing and starts nothing; a process is a Launcher to it. It
// may be used by several goroutines.
package tally
