//go:build linux

package session

import (
	"sync"
	"time"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
)

// observer watches the processes of a server's sessions. It reports what happens to daemons
// and ranks, and answers the launcher's questions about them. It decides nothing, except that
// a frozen daemon ends its session while no launcher is connected.
//
// It has a lock of its own, so that a look at many processes holds up no output and no
// handshake. Locks are taken in this order:
//
//	observer.looking -> Server.mu -> observer.mu -> conn.mu
//
// The server calls the observer with Server.mu held when a session comes or goes, and when a
// launcher does. So the observer never takes Server.mu while it holds its own: it asks the
// server for sessions first. A session that has gone meanwhile does no harm: the observer
// reports of it to the connection of its epoch or to nobody, because reset clears reports and
// connection in one step.
type observer struct {
	srv   *Server
	looks chan struct{} // there is something to watch over
	ends  *reap.Ends    // of watched processes; nil: the kernel does not tell
	turn  int64         // of the last one that ends has told of; its goroutine alone uses it

	looking sync.Mutex // one look at a time

	mu        sync.Mutex
	wants     wants
	connected bool               // a launcher is there
	to        *conn              // gets the reports; nil: nobody
	sessions  map[*session]bool  // those that are observed
	watched   map[being]*watched // nil: the server ends
	reports   []report           // for launchers that redial
	reported  uint64             // Seq of the last one
	answering bool               // a question is being answered
	stacking  bool               // one about stacks is
}

// wants is what the launcher wants to hear.
type wants struct {
	reports     bool
	frozenAfter time.Duration // 0: daemons may be stopped for ever
	noStacks    bool          // it asks for none
}

// sight is what has been seen of a session. It is guarded by the observer's mu.
type sight struct {
	memory       int                  // processes of it that the kernel killed for its memory, as reported
	hasRanks     bool                 // a look has found one
	hasMPI       bool                 // with an MPI library
	hasDone      bool                 // and that one ended with 0 has been told
	unfinished   bool                 // a rank did not end with 0, or nobody knows how
	ranks        ranksSeen            // how many
	rankEnds     map[string]time.Time // when ranks were found to have ended, by their numbers
	holders      []being              // processes of which a report has said that they hold a rank's output
	awaitsOutput bool                 // a look comes heldTold after a rank's end
}

func newObserver(s *Server) *observer {
	return &observer{srv: s, looks: make(chan struct{}, 1), sessions: map[*session]bool{}, watched: map[being]*watched{}}
}

// add begins to observe a session.
func (o *observer) add(x *session) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sessions[x] = true
}

// remove forgets a session and its processes.
func (o *observer) remove(x *session) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.sessions, x)
	for key, w := range o.watched {
		if w.session == x {
			o.unwatchLocked(key)
		}
	}
}

// reset forgets everything of an epoch.
func (o *observer) reset() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.resetLocked()
}

func (o *observer) resetLocked() {
	clear(o.sessions)
	for key := range o.watched {
		o.unwatchLocked(key)
	}
	o.reports, o.to = nil, nil
}

// close is reset for good: nobody waits for an end any more.
func (o *observer) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.resetLocked()
	o.watched = nil
}

// claimed notes that a launcher has come, which gets no report before its WELCOME.
func (o *observer) claimed(h wire.HelloRecord) {
	o.mu.Lock()
	o.wants = wants{h.Reports, graceOf(h.FrozenMillis), h.NoStacks}
	o.connected, o.to = true, nil
	o.mu.Unlock()
	o.watchNow()
}

// left notes that the launcher's connection has ended.
func (o *observer) left() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.connected, o.to = false, nil
}

// wantsReports reports whether the launcher wants to hear of daemons and ranks.
func (o *observer) wantsReports() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.wants.reports
}

// unseen is how many ranks of a session have not been seen.
func (o *observer) unseen(x *session) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return x.sight.unseen()
}

// livingLines reports whether a living session runs a line, which may start daemons.
func (o *observer) livingLines() bool {
	for _, x := range o.srv.living() {
		if x.line {
			return true
		}
	}
	return false
}

// sessionOf returns the session that a process belongs to by its environment, nil for none.
func (o *observer) sessionOf(pid int) *session { return o.srv.named(textIn(pid, names.EnvSession)) }
