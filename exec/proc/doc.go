// Package proc is what every PID 1 of ours does with processes beyond collecting
// them: it looks a program up, starts it with the mark of its session, writes its
// end down as a record, counts memory kills, and finds what a stop has to end. A
// worker (exec/session) and a member (agent/join) use it. Both own one
// reap.Reaper, on which the package sits.
//
// The two roles differ on purpose in these points, and each keeps its part:
//
//   - A worker looks a command up in the PATH of its session ([LookPath]), because
//     sessions bring variables of their own. A member looks it up in its own PATH
//     ([LookOwnPath]), as any init does.
//   - The processes of a worker write into pipes that the worker reads, and their
//     session lasts until these have ended. Those of a member have its descriptors,
//     and the end of the first process is the end.
//   - A worker cuts the sentence of an [Unstarted] record to what a frame holds, and
//     leaves its time out. A member gives the time, by which rank 0 orders ends.
//   - A stop of a worker waits for stops of single sessions before it ends the rest
//     below it, and gives that rest time of its own. A member has one stop at a
//     time, and kills the rest as soon as that stop fails.
//   - A worker logs what became of ranks with their pids. A member of one rank says
//     "the rank": its user never sees pids of the container.
//
// The package knows no frames, leases or members, and owns no goroutine. Apart from
// the environment and the names of signals it works on Linux only.
package proc
