// Package group runs one group of processes on workers, over sessions, and reports how it ended. It
// is for frameworks whose processes are started directly, without mpirun.
//
// It takes [Process]s, each with a way to its worker, and the rules of framework.Part. It knows
// nothing about Kubernetes, pods or links. It starts all processes at once, except that a process with
// an address in After starts when something listens there. Of thousands, some hundreds at a time are
// unconfirmed by their workers.
//
// It promises:
//
//   - The group succeeds only when the processes that count have exited with 0 by
//     themselves. A process that we stopped does not count.
//   - The first failure is the cause: the first in time as the workers saw it. Of
//     failures within a second, the cause is one that crashed or was killed by KILL.
//     Otherwise it is one that was not killed by a signal (ABRT, TERM) with which
//     frameworks end after the loss of a peer. Where one success is enough, failures long
//     before the last one do not count. The cause is reported, with the last
//     lines of its process, before the other processes are stopped.
//   - The other processes are stopped in tiers: the working ones, then the serving
//     ones in the order of the processes. Each gets TERM, and KILL after the grace. The
//     worker itself sends KILL, so that a process which ignores TERM ends as well. If
//     a worker is being removed, the grace is the full one.
//   - Run returns when every process has ended or its worker is lost. For a worker that
//     does not answer, or output without a reader, it waits for a limited time after
//     the grace.
//
// [Group.Add] adds one more process to a running group. It is for processes that find each other
// (framework.Launch.Elastic).
//
// It does not restart anything, and does not print: output goes to the writers of the processes,
// which package output makes.
package group
