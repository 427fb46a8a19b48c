// Package join is the member role: PID 1 of each pod of a job that has no launcher and does not use
// the API server. docs/guides/join.md is its manual.
//
// Each member finds its rank and the address of rank 0 (identity.go, coordinator.go). It keeps a
// connection to the barrier that rank 0 serves (rendezvous/barrier). When all members are there,
// each has the same table and computes the same launch from it (plan.go, agent/framework). Each
// starts its own processes (crew_linux.go, exec/reap), as the orders say (member_linux.go).
//
// Rank 0 is a member like the others, and also leads. The rules about success, failure and stopping
// are those of agent/group, whose sessions are seats of the barrier (lead.go, remote.go). Restarts
// are those of agent/retry (attempts.go). A job of one member is the same without listener and
// token.
//
// It promises:
//
//   - Members end together: with 0 if the group has succeeded, else with the exit code of
//     its first failure, which every member reports.
//   - A member that takes part in the next attempt has no live process of the last one.
//   - A broken connection is made again, and has no effect within the lease. After the
//     lease the disconnected member stops its processes, and the others count it as
//     lost.
//   - A new coordinator, after the pod of rank 0 was replaced, learns from the members which
//     attempts there were and how many restarts are used up.
//   - TERM from outside goes to the ranks first. The other members treat it as a
//     preemption.
//   - The token is in no argv, log, message, or environment of a process.
package join
