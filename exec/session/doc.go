// Package session is PID 1's side of the sessions: it accepts the launcher's
// connections, starts what they ask for, and owns, reaps and stops every
// process.
//
// A Server holds one current connection, the launcher's link, and the sessions
// of one epoch. The connection may be cut and made again at any moment; the
// sessions do not notice. Their output waits in spools, in memory and then in files, until
// the launcher has acknowledged it, their end waits as a record until the launcher has it.
//
// What it promises: a session id starts at most one process, ever; a launcher
// of a lower epoch is refused and one of a higher epoch finds nothing of its
// predecessor's left; without a launcher for the lease, everything of the
// sessions is stopped; after End nothing of the job runs.
//
// Its observer looks at the members of the sessions, soon after a start and then every few
// seconds, and reports MPI daemons that were killed or are frozen, and ranks that
// failed, to launchers that want to hear (watch.go, rank.go). The observer has a lock of its own;
// observer.go says in which order locks are taken. Below a launcher such as
// torchrun it follows the ranks, and tells with the end which one failed (judged.go).
//
// A worker that is told to stop and has daemons of an mpirun tells the launcher, and holds them
// until that has ended the mpirun, which does not get over the loss of a daemon (leave.go).
//
// What it does not do: it does not know Kubernetes, it does not choose its
// exit code (agent/worker does), and it never restarts anything.
package session
