//go:build linux

package session

import (
	"sync"
	"time"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
)

// observer watches the processes of a server's sessions. It reports what happens to daemons and
// ranks, and answers the launcher's questions about them. It makes no decisions, except that a
// frozen daemon ends its session while no launcher is connected.
//
// The observer has its own lock, so that a look at many processes does not delay output or a
// handshake. Locks are taken in this order:
//
//	observer.looking -> Server.mu -> observer.mu -> conn.mu
//
// The server calls the observer with Server.mu held when a session or a launcher comes or goes. So
// the observer never takes Server.mu while it holds observer.mu: it asks the server for sessions
// first. A session that has gone meanwhile does no harm. The observer reports it to the connection
// of its epoch or not at all, because reset clears reports and connection in one step.
type observer struct {
	srv   *Server
	looks chan struct{} // wakes the look loop
	ends  *reap.Ends    // ends of watched processes; nil: the kernel does not report them
	turn  int64         // turn of the last end that ends reported; only used by the goroutine of ends

	looking sync.Mutex // one look at a time

	mu        sync.Mutex
	wants     wants
	connected bool               // a launcher is connected
	to        *conn              // gets the reports; nil: nobody
	sessions  map[*session]bool  // observed sessions
	watched   map[being]*watched // nil: the server is closing
	reports   []report           // for launchers that redial
	reported  uint64             // Seq of the last one
	answering bool               // a question is being answered
	searching bool               // files are being looked up
	stacking  bool               // a question about stacks is being answered
}

// wants is what the launcher wants to be told.
type wants struct {
	reports     bool
	frozenAfter time.Duration // 0: daemons may be stopped forever
	noStacks    bool          // it does not ask for stacks
}

// sight is what has been seen of a session. It is guarded by the observer's mu.
type sight struct {
	memory       int                  // reported number of its processes that the kernel killed for lack of memory
	hasRanks     bool                 // a look has found a rank
	hasMPI       bool                 // a look has found a rank with an MPI library
	hasDone      bool                 // a rank that ended with 0 has been reported
	unfinished   bool                 // a rank did not end with 0, or its end is unknown
	ranks        ranksSeen            // counts of ranks
	rankEnds     map[string]time.Time // when ranks were found to have ended, by rank number
	holders      []being              // processes that were reported for holding a rank's output
	awaitsOutput bool                 // a look is due heldTold after a rank's end
	past         map[being]bool       // watched processes that have ended; at most maxWatched
}

func newObserver(s *Server) *observer {
	return &observer{srv: s, looks: make(chan struct{}, 1), sessions: map[*session]bool{}, watched: map[being]*watched{}}
}

// add starts to observe a session.
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

// close is reset for good: nobody waits for an end any longer.
func (o *observer) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.resetLocked()
	o.watched = nil
}

// claimed records that a launcher has connected. It gets no report before its WELCOME.
func (o *observer) claimed(h wire.HelloRecord) {
	o.mu.Lock()
	o.wants = wants{h.Reports, graceOf(h.FrozenMillis), h.NoStacks}
	o.connected, o.to = true, nil
	o.mu.Unlock()
	o.watchNow()
}

// left records that the launcher's connection has ended.
func (o *observer) left() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.connected, o.to = false, nil
}

// wantsReports reports whether the launcher wants reports of daemons and ranks.
func (o *observer) wantsReports() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.wants.reports
}

// unseen returns how many ranks of a session have not been seen.
func (o *observer) unseen(x *session) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return x.sight.unseen()
}

// livingLines reports whether a running session runs a line, which may start daemons.
func (o *observer) livingLines() bool {
	for _, x := range o.srv.living() {
		if x.line {
			return true
		}
	}
	return false
}

// sessionOf returns the session that a process belongs to by its environment, or nil.
func (o *observer) sessionOf(pid int) *session { return o.srv.named(textIn(pid, names.EnvSession)) }
