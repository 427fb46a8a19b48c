// Package link is the launcher's side of the link to one worker: it dials,
// shakes hands, multiplexes sessions, and dials again when the connection is
// gone, so that a session does not notice.
//
// A Link belongs to one worker for the life of the job. Run keeps it up until
// its context ends or the worker is lost; Open starts sessions on it at any
// time, also while it is down. A session ends well only with the worker's exit
// record and every byte up to its totals written: what the stream below says
// of itself (client-go says nil when it was cut) means nothing.
//
// Links of one API server share a Gate: when the server cannot be reached, one
// of them knocks and the others wait, and when it is back they go through at a
// bounded rate.
//
// What it does not do: it never starts a session twice, never turns a lost
// connection into an exit code, and does not watch pods. Its owner does, and
// says so with Lose.
package link
