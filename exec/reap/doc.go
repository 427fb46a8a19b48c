// Package reap owns every child process of one Go process: it starts them,
// collects their exit statuses, knows which processes belong to which session,
// and stops them in order.
//
// # One owner of wait4
//
// PID 1 must collect every process that is re-parented to it, so it waits for
// any child. A second waiter beside it (os/exec, os.Process.Wait) loses exit
// statuses to it. Therefore a [Reaper] starts the processes too: fork and
// registration happen under the lock that the wait loop takes, and a status
// cannot arrive before its process is known. A program that runs a Reaper must
// not use os/exec, and must not run two of them.
//
// A signal that this process ignores (signal.Ignore) is ignored by every process
// it starts, too: take unwanted signals with signal.Notify instead.
//
// Statuses of processes that the Reaper did not start (daemons whose parents
// are gone) go to OnOrphan and are counted. An idle Reaper without children
// never wakes up.
//
// # Who belongs to a session
//
// A daemon leaves its process group and its session, so neither leads from a
// session to its processes. What stays is the environment: a process is a
// member when the marker variable in /proc/PID/environ has the session's id, or
// when its parent is a member. A [Tree] also remembers whom it has seen, so that
// a process with an emptied environment stays a member when its parent ends.
// [Below] finds what neither rule can: everything that descends from a process.
//
// # Stopping
//
// [Reaper.Stop] sends TERM, waits, sends KILL, and returns when two scans in a
// row found nothing alive, and no child ended during them: a scan of /proc is no
// snapshot, a process can fork behind the reader's back and end. A process that is
// loading a program shows no environment, so a scan waits until it has. [Reaper.Drain] asks the ranks first ([Ranks]), and with
// the signal that the caller got, so that they can write a checkpoint while the
// daemons above them and the helpers below them still live. Helpers follow, launchers
// and daemons come last. [Reaper.Ask] is the first part alone, for ranks whose launcher
// runs elsewhere; [Reaper.DrainHolding] is a Drain of such ranks whose daemons have to wait. [Reaper.Rest] stops what
// a process that has ended leaves behind. Signals go
// through a pidfd whose process was compared by start time, so a reused pid is
// never hit.
//
// # What it does not do
//
// It looks up no command in PATH, copies no output, knows nothing of frames,
// leases or users, and keeps no history. It works on Linux only.
package reap
