// Package reap owns every child process of one Go process. It starts them, collects their exit
// codes, knows which processes belong to which session, and stops them in order.
//
// # One owner of wait4
//
// PID 1 must collect every process that is re-parented to it, so it waits for any child. A second
// waiter (os/exec, os.Process.Wait) would lose exit statuses to it. Therefore a [Reaper] also
// starts the processes: fork and registration happen under the lock that the wait loop takes, so no
// status arrives before its process is known. A program that runs a Reaper must not use os/exec,
// and must not run two Reapers.
//
// A child may hang before its execve, on a file system that does not answer. That would block the
// lock, and the garbage collector with all of this program. So Start first opens what execve opens.
//
// If this process ignores a signal (signal.Ignore), so does every process that it starts. Take
// unwanted signals with signal.Notify instead.
//
// Statuses of processes that the Reaper did not start (daemons whose parents have ended) go to
// OnOrphan. An idle Reaper without children never wakes up.
//
// # Who belongs to a session
//
// A daemon leaves its process group and its session, so neither identifies the processes of one of
// our sessions. The environment does: a process belongs to a session if the marker variable in
// /proc/PID/environ has the session's id, or if its parent belongs to it. A [Tree] also remembers
// its processes, so that one with an emptied environment still belongs to it after its parent ends.
// [Below] finds what neither rule can: all descendants of a process. The trees of one [Reaper] share
// the scans of a [Table].
//
// # Stopping
//
// [Reaper.Stop] sends TERM, waits, and sends KILL. It returns when two scans in a row found no live
// process, and no child ended during them. One scan is not enough: a scan of /proc is no snapshot,
// so a process can fork behind the reader's back and end. A process that is loading a program has
// no environment for a moment, or only a part of it, so a scan waits for that.
//
// [Reaper.Drain] first sends the caller's signal to the ranks only ([Ranks]), so that they can
// write a checkpoint while the daemons above them and the helpers below them still live. Helpers
// follow; launchers and daemons come last. [Reaper.Ask] is only the first part, for ranks whose
// launcher runs elsewhere. [Reaper.DrainHolding] is a Drain of such ranks whose daemons have to
// wait. [Reaper.Rest] stops what a finished process has left behind. Stops may overlap: a process
// gets TERM from one of them only. Signals go through a pidfd after its start time was compared, so
// a reused pid never gets a signal.
//
// # What it does not do
//
// It looks up no command in PATH, copies no output, knows no frames, leases or users, and keeps no
// history. It works on Linux only.
package reap
