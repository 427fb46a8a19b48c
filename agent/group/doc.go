// Package group runs one group of processes on workers, over sessions, and says
// how it ended: the launch of frameworks whose processes are started directly,
// without an mpirun.
//
// It takes [Member]s, each with the way to its worker, and the rules of
// framework.Part; nothing of Kubernetes, pods or links is known here. It starts
// all at once, those that name an address in After when something listens there.
//
// It promises:
//
//   - the group has succeeded only when those that count have ended with 0 by
//     themselves; what we stopped does not count;
//   - the first failure is the cause: the first in time as the workers saw it, of
//     those within a second of each other one that crashed or was killed by KILL,
//     else one that was not killed by the signals (ABRT, TERM) with which
//     frameworks end when a peer has gone; it is told, with the process's last
//     lines, before the rest is stopped;
//   - the rest is stopped in tiers: what works, then what serves, in the members'
//     order; TERM, after the grace KILL, by the worker itself, so that a process
//     which ignores TERM is gone all the same; where a worker is taken away the
//     grace is the whole one;
//   - Run returns when every process has ended or its worker is lost; for a worker
//     that does not answer, or output that nobody reads, it waits a bounded time
//     beyond the grace.
//
// One more process may join a group that runs, with [Group.Add]: one whose
// processes find each other (framework.Launch.Elastic).
//
// It will not restart anything, nor print: output goes to the members' writers,
// which output/ makes.
package group
