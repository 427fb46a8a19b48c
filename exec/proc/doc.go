// Package proc is what every PID 1 of ours does with processes, besides collecting them. It looks
// up a program, starts it with the mark of its session, and converts its end to a record. It also
// counts memory kills, finds devices, and finds what a stop has to end. A worker (exec/session) and
// a member (agent/join) use it, each over its own reap.Reaper.
//
// A process that waits as long as a job lasts, such as a launcher, releases the pages of its program
// with [Settle]. One with thousands of peers collects garbage earlier ([LimitGarbage]).
//
// The two roles differ on purpose in these parts:
//
//   - Look-up: a worker searches the PATH of the session ([LookPath]), because sessions
//     bring variables of their own. A member searches its own PATH ([LookOwnPath]), as
//     any init does: --env is for the command, not for finding it.
//   - Output: processes of a worker write into pipes, and their session lasts until the
//     pipes have ended. Processes of a member have the member's own descriptors, so
//     their end is the end.
//   - Failed starts: a worker cuts the sentence of [Unstarted] to what a frame holds. A
//     member adds the time, by which rank 0 orders ends.
//   - Stops: a worker waits for the stops of single sessions, and then gives the rest
//     below it time of its own. A member has one stop at a time with one limit, and
//     kills everything below it ([KillBelow]) when that stop fails.
//   - Words: a worker logs a rank without a number by its pid. A member says "the rank",
//     because its user does not see the pids of the container.
//
// The package knows no frames, leases or members, and starts no goroutine. It works on Linux only,
// apart from environments and the names of signals.
package proc
