// Package broker is the server in the launcher for all remote shells. `agent rsh` stubs connect to
// its unix socket, pass their descriptors and wait. The broker opens a session on the worker that
// the host name means, and answers with the exit code. The stub and the messages are in exec/rsh.
//
// It takes a Resolver (usually a *Hosts table) and a listener. It promises:
//
//   - It serves only peers with the launcher's uid, or root (SO_PEERCRED).
//   - It never makes passed descriptors non-blocking, because mpirun, the user's shell
//     and the other ranks share the open file description.
//   - It closes its copies when the stub dies or the session ends, before the stub gets
//     the exit code, because MPICH waits for the end of file on its pipes.
//   - If a stub dies, its session is stopped (TERM, then KILL after Grace), unless the
//     session has answered already, like a daemonized orted.
//   - The reply is the session's own exit code. It is 0 only if the session's is 0. A
//     lost worker is 255 with a sentence.
//   - It reads stdin only when the link asks for it, and never with -n.
//
// Waiting costs no thread. Pipes are reopened through /proc, so that the copy can be non-blocking
// while the original stays unchanged. Descriptors that cannot be reopened (terminals, sockets,
// pipes of another uid) have an epoll set, and are read or written only when they are ready. Memory
// is limited: a request has at most rsh.MaxMessage bytes, few requests are read at once, and the
// link's window is the only buffer for output.
//
// It does not run anything itself, retry, or interpret exit codes.
package broker
