// Package session is PID 1's side of the sessions. It accepts the launcher's connections, starts
// what they ask for, and owns, reaps and stops every process.
//
// A Server holds one current connection, the launcher's link, and the sessions of one epoch. The
// connection may be cut and redialed at any time, and the sessions do not notice. Their output
// waits in spools, in memory and then in files, until the launcher has acknowledged it. Their end
// waits as a record until the launcher has it.
//
// A session id starts at most one process, ever. A launcher of a lower epoch is refused. A launcher
// of a higher epoch finds no processes of its predecessor. Without a launcher for the lease, all
// processes of the sessions are stopped. After End no process of the job is running.
//
// The Server's observer looks at the processes of the sessions, soon after a start and then every
// few seconds. It reports MPI daemons that were killed or are frozen, and failed ranks, to
// launchers that ask for reports (watch.go, rank.go). The observer has its own lock; observer.go
// defines the lock order. Below a launcher such as torchrun, the session follows the ranks, and its
// exit record says which one failed (judged.go).
//
// If a worker with daemons of an mpirun is told to stop, it tells the launcher. It holds the
// daemons until the launcher has ended the mpirun, because mpirun does not survive the loss of a
// daemon (leave.go).
//
// The package does not know Kubernetes, does not choose the exit code (agent/worker does), and
// never restarts anything.
package session
