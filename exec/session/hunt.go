//go:build linux

package session

import (
	"bytes"
	"context"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/reap"
)

// A rank that fails at once lives for only a few milliseconds. The hunt reads the kernel's lists of
// children below this process, which is far cheaper than a scan of /proc. It opens a pidfd for each
// rank before the rank can end.
const (
	// huntFor is how long a hunt waits for the ranks of a daemon. huntIdle is how long it waits for
	// a daemon: a line may start none.
	huntFor  = 20 * time.Second
	huntIdle = 5 * time.Second
	// huntAfter is how long a hunt continues after the last new rank.
	huntAfter = 300 * time.Millisecond
	// huntPause is the shortest pause between two rounds. The pause is also huntShare times the
	// duration of a round, because a thousand fake workers share one machine.
	huntPause = time.Millisecond
	huntShare = 8
	// deepPause and deepShare are the same for rounds that look for daemons.
	deepPause = 10 * time.Millisecond
	deepShare = 100
	// bornFor is how long a rank may take until its execve. youngFor is how long it may take to
	// load its MPI library. Between the two it is checked again every youngPause.
	bornFor    = 20 * time.Millisecond
	youngFor   = 100 * time.Millisecond
	youngPause = 50 * time.Millisecond
	// busyPause and busyShare apply while the machine runs busyThreads for each processor: workers
	// that share it would slow down each other's launch. With more threads they grow in proportion,
	// since ranks live longer in the same proportion.
	busyThreads = 2
	busyPause   = 20 * time.Millisecond
	busyShare   = 200
	// mostPause limits every pause. A worker that has to wait for a processor starts its rounds
	// late and needs long for them, which makes pauses longer. But a rank must not live and end
	// between two rounds.
	mostPause = 250 * time.Millisecond
)

// hunter is one hunt.
type hunter struct {
	o       *observer
	buf     bytes.Buffer
	daemons map[int]string      // their commands, by pid
	grown   map[being]bool      // ranks that need no further check
	seen    map[being]time.Time // when other ranks were last checked
	until   time.Time           // when the hunt ends unless it finds something new
}

// hunt looks for new daemons and ranks until some time after the last new rank, until no session
// runs a line, or until ctx ends. It also does the periodic looks meanwhile.
func (o *observer) hunt(ctx context.Context) {
	h := &hunter{o: o, grown: map[being]bool{}, seen: map[being]time.Time{}, until: time.Now().Add(huntIdle)}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	looked, between := time.Now(), firstLook
	var deep time.Time // when to look for daemons again
	for pause := time.Duration(0); o.starting() && time.Now().Before(h.until); {
		began := time.Now()
		timer.Reset(pause)
		select {
		case <-ctx.Done():
			return
		case <-o.looks: // a new session
			h.until = time.Now().Add(huntIdle)
		case <-timer.C:
		}
		at := time.Now()
		late := at.Sub(began) - pause
		over := h.overload()
		if at.After(deep) {
			h.daemons = map[int]string{}
			h.below(os.Getpid(), "", 0)
			deep = time.Now().Add(min(mostPause, max(scale(over, max(deepPause, deepShare*time.Since(at))), 4*late)))
		}
		found := time.Now()
		h.ranks()
		pause = max(huntPause, huntShare*time.Since(found), 8*late)
		if len(h.daemons) == 0 {
			pause = time.Until(deep)
		}
		if over > 1 {
			pause = max(pause, scale(over, max(busyPause, busyShare*time.Since(at))))
		}
		pause = min(pause, mostPause)
		if time.Since(looked) > min(scale(over, between), o.longestLook()) {
			o.lookOnce()
			looked, between = time.Now(), min(2*between, o.longestLook())
		}
	}
}

// overload returns how many threads the machine runs, over busyThreads for each processor; 0: not
// known.
func (h *hunter) overload() float64 {
	if reap.ReadFile("/proc/loadavg", &h.buf) != nil {
		return 0
	}
	fields := bytes.Fields(h.buf.Bytes())
	if len(fields) < 4 {
		return 0
	}
	running, _, _ := bytes.Cut(fields[3], []byte("/"))
	n, err := strconv.Atoi(string(running))
	if err != nil {
		return 0
	}
	return float64(n) / float64(busyThreads*runtime.NumCPU())
}

// scale makes a pause of an overloaded machine longer.
func scale(over float64, pause time.Duration) time.Duration {
	return time.Duration(max(1, over) * float64(pause))
}

// starting reports whether a running session may start daemons, and the launcher wants reports.
func (o *observer) starting() bool { return o.wantsReports() && o.livingLines() }

// mostDeep limits the number of shells and daemons above a rank.
const mostDeep = 16

// below looks for daemons among the descendants of pid, a process with the name comm.
func (h *hunter) below(pid int, comm string, depth int) {
	for _, child := range h.children(pid) {
		p := h.stat(child)
		switch {
		case p.PID == 0 || depth == mostDeep:
			continue // it has ended
		case names.IsMPIDaemon(p.Comm) && p.Comm != comm:
			h.foundDaemon(p)
			h.below(child, p.Comm, depth+1)
		case !names.IsMPIDaemon(comm):
			h.below(child, p.Comm, depth+1)
		}
	}
}

func (h *hunter) stat(pid int) reap.Proc {
	p, err := reap.Stat(pid, &h.buf)
	if err != nil {
		return reap.Proc{} // it has ended
	}
	return p
}

// children lists the children of all threads of a process.
func (h *hunter) children(pid int) (all []int) {
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	threads, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, t := range threads {
		all = append(all, h.childrenOf(dir+"/"+t.Name())...)
	}
	return all
}

// childrenOf lists the children of one thread.
func (h *hunter) childrenOf(thread string) (all []int) {
	if reap.ReadFile(thread+"/children", &h.buf) != nil {
		return nil
	}
	for _, word := range bytes.Fields(h.buf.Bytes()) {
		if child, err := strconv.Atoi(string(word)); err == nil {
			all = append(all, child)
		}
	}
	return all
}

// foundDaemon handles a daemon.
func (h *hunter) foundDaemon(p reap.Proc) {
	h.daemons[p.PID] = p.Comm
	if h.grown[being{p.PID, p.Start}] {
		return
	}
	x := h.o.sessionOf(p.PID)
	if x == nil || !p.Alive() {
		return // has not completed execve yet
	}
	h.o.looking.Lock()
	defer h.o.looking.Unlock()
	h.o.see(x, p, ofDaemon)
	h.grown[being{p.PID, p.Start}] = true
	h.until = time.Now().Add(huntFor)
}

// ranks checks the children of the daemons. A daemon's main thread starts them.
func (h *hunter) ranks() {
	for pid, comm := range h.daemons {
		id := strconv.Itoa(pid)
		for _, child := range h.childrenOf("/proc/" + id + "/task/" + id) {
			if p := h.stat(child); p.PID != 0 && p.Alive() && !h.grown[being{p.PID, p.Start}] {
				h.foundRank(p, comm)
			}
		}
	}
}

// foundRank handles a child of a daemon with the name daemon: a rank, or a process that becomes one
// at its execve.
func (h *hunter) foundRank(p reap.Proc, daemon string) {
	key := being{p.PID, p.Start}
	kind := ofRank
	if p.Comm == daemon {
		kind = ofUnborn
	}
	if names.IsMPIDaemon(p.Comm) && kind == ofRank || time.Since(h.seen[key]) < youngPause && kind == ofRank {
		return
	}
	x := h.o.sessionOf(p.PPID)
	if x == nil {
		return
	}
	h.o.looking.Lock()
	defer h.o.looking.Unlock()
	w := h.o.see(x, p, kind)
	if w == nil {
		return
	}
	age := time.Since(w.seen)
	if kind == ofRank && w.rank != "" || age > bornFor {
		h.seen[key] = time.Now()
	}
	if age < bornFor {
		h.until = time.Now().Add(huntAfter)
	}
	if age > youngFor {
		h.grown[key] = true
	}
}
