// Package worker is the worker role: PID 1 of a worker's container.
//
// Run creates the private directory, binds the socket, becomes the reaper, and waits for launchers.
// It ends in one of three cases:
//
//   - The launcher says that the job is over: exit code 0.
//   - No launcher came within the waiting time: 75.
//   - It is told to stop from outside. If nothing runs it exits with 0 at once.
//     Otherwise it stops the sessions in order, the ranks first so that they can write
//     a checkpoint, and exits with 143.
//
// Its last words go to the termination message. docs/explanation/pid1.md says what it does with each signal,
// orphan and exit code; test/pid1 enforces that.
//
// The package also has the three small verbs that run beside PID 1. Attach is the bridge that
// pods/exec runs, Ready is for probes, and Install copies the agent into a shared directory.
package worker
