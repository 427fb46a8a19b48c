// Package link is the launcher's side of the link to one worker. It dials, shakes hands,
// multiplexes sessions, and redials when the connection is lost, so that sessions do not notice.
//
// A Link belongs to one worker for the life of the job. Run keeps it up until its context ends or
// the worker is lost. Open starts sessions on it at any time, even while it is down. A session ends
// well only with the worker's exit record and every byte up to its totals written. What the stream
// below reports about its own end means nothing: client-go returns nil for a stream that was cut.
//
// Links of one API server share a Gate. If the server cannot be reached, one link probes it while
// the others wait. When it is back, they dial at a limited rate.
//
// A Link never starts a session twice, never turns a lost connection into an exit code, and does
// not watch pods. Its owner watches pods, and calls Lose.
package link
