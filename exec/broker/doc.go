// Package broker is the server in the launcher through which every remote
// shell goes: `agent rsh` stubs connect to its unix socket, hand over their
// descriptors and wait; it opens a session on the worker that the host means
// and answers with the exit code. The stub's side and the messages are in
// exec/rsh.
//
// It takes a Resolver (usually a *Hosts table) and a listener. It promises:
//
//   - only peers with the launcher's uid, or root, are served (SO_PEERCRED);
//   - passed descriptors are never made non-blocking: mpirun, the user's shell
//     and the other ranks share the open file description with us;
//   - our copies are closed when the stub dies or the session ends, before the
//     stub hears the exit code: MPICH waits for the end of file on its pipes;
//   - a stub that dies takes its session along (TERM, then KILL after Grace),
//     unless the session has already answered, as a daemonized orted has;
//   - the reply is the session's own exit code; 0 is said only when the session
//     said 0, and a lost worker is 255 with a sentence;
//   - stdin is read only when the link asks for it, and not at all with -n.
//
// Waiting costs no thread: pipes are reopened through /proc, so that the copy
// can be non-blocking and the original stays as it is; what cannot be reopened
// (terminals, sockets, pipes of another uid) is watched through an epoll set of
// its own, and read or written only when it is ready. Memory is bounded: a
// request has at most rsh.MaxMessage bytes, few are read at once, and output is
// held nowhere, since the link's window is the only buffer.
//
// It will not run anything itself, retry, or judge exit codes.
package broker
