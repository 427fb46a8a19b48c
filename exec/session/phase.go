//go:build linux

package session

import "fmt"

// phase is how far a session has come. Only session.enter changes it.
//
//	starting ---> running ---> detached ---> ended
//	    |            |                         ^
//	    +------------+-------------------------+
//
// A session that is starting has asked for its process: execve may hang. It is running until its
// exit record is made, which its output may delay. It is detached while other processes of it live
// on after that.
//
// Whether the launcher has the record is not a phase: it may forget a session in any phase, see
// [Server.forget].
type phase uint8

const (
	starting phase = iota
	running
	detached
	ended
)

// String returns the phase as one word.
func (p phase) String() string {
	return [...]string{"starting", "running", "detached", "ended"}[p]
}

// leadsTo reports whether there is an arrow from p to another phase.
func (p phase) leadsTo(to phase) bool {
	switch to {
	case running:
		return p == starting
	case detached:
		return p == running
	case ended:
		return p != ended
	}
	return false
}

// enter moves the session to another phase. It panics if no arrow leads there. The caller holds
// srv.mu.
func (x *session) enter(to phase) {
	if !x.phase.leadsTo(to) {
		panic(fmt.Sprintf("session %s: from %s to %s", x.id, x.phase, to))
	}
	x.phase = to
}

// lives reports whether processes of the session may be alive. The caller holds srv.mu.
func (x *session) lives() bool { return x.phase != ended }

// lasts reports whether the session has no exit record yet. The caller holds srv.mu.
func (x *session) lasts() bool { return x.phase == starting || x.phase == running }

// carriage is what happens to output that a session's processes write.
type carriage uint8

const (
	carried carriage = iota // the launcher gets it
	left                    // it is read and dropped: the writer would otherwise die of SIGPIPE
	cut                     // nothing is read after what is in the pipes
)
