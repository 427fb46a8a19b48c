// Package join is the member role: PID 1 of each pod of a job that has no
// launcher and asks no API server. docs/join.md is for its users.
//
// Each member finds its rank and where rank 0 is (identity.go, coordinator.go),
// and keeps a connection to the barrier that rank 0 serves (rendezvous/barrier).
// When all are there, everyone has the same table and computes from it the same
// launch (plan.go, agent/framework); each starts the processes that are its own
// (crew_linux.go, exec/reap), as the orders say (member_linux.go). Rank 0 is a
// member like the others, and leads besides: the group's rules about success,
// failure and stopping are those of agent/group, over sessions that are seats of
// the barrier (lead.go, remote.go), restarts those of agent/retry (attempts.go).
// A job of one member is the same without listener and token.
//
// It promises:
//
//   - members end together: with 0 when the group has succeeded, else with the
//     code of its first failure, which every member names;
//   - nothing of an attempt is alive in a member that takes part in the next one;
//   - a connection that is cut is made again, and nobody notices within the lease;
//     after it the member that is cut off stops its processes, and the others
//     count it as lost;
//   - a coordinator that is new, because rank 0's pod was replaced, learns from
//     the members which attempts have been and how many restarts are used up;
//   - TERM from outside goes to the leaves first, and is told to the others as a
//     preemption;
//   - the token is in no argv, log, message, or environment of a process.
package join
