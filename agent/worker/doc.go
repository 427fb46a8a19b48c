// Package worker is the worker role: PID 1 of a worker's container.
//
// Run makes the private directory, binds the socket, becomes the reaper, and
// awaits launchers. It ends when the launcher says that the job is over (0),
// when no launcher came for the awaited time (75), or when it is told to stop
// from outside: at once with 0 while nothing runs, and with 143 after the
// sessions have been stopped in order, the ranks first, so that they can write
// a checkpoint. Its last words go to the termination message. docs/pid1.md says
// what it does with each signal, orphan and exit code; test/pid1 holds it to that.
//
// It also holds the three small verbs that live beside PID 1: Attach, the
// bridge that pods/exec runs; Ready, for those who want a probe; and Install,
// which copies the agent into a shared directory.
package worker
