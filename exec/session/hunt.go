//go:build linux

package session

import (
	"bytes"
	"context"
	"os"
	"runtime"
	"slices"
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
	// settledPause applies instead while each line has a daemon. A line rarely starts a second one
	// while the first lives.
	settledPause = time.Second
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
	daemons map[int]daemon      // by pid
	gone    bool                // one of them has ended: it may have left another one behind
	homes   map[being]*session  // sessions of known daemons
	grown   map[being]bool      // ranks that need no further check
	seen    map[being]time.Time // when other ranks were last checked
	until   time.Time           // when the hunt ends unless it finds something new
}

// daemon is a daemon of a hunt.
type daemon struct {
	command string
	session *session // nil: not known yet
}

// hunt looks for new daemons and ranks until some time after the last new rank, until no session
// runs a line, or until ctx ends. It also does the periodic looks meanwhile.
func (o *observer) hunt(ctx context.Context) {
	h := &hunter{o: o, homes: map[being]*session{}, grown: map[being]bool{}, seen: map[being]time.Time{}, until: time.Now().Add(huntIdle)}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	looked, between := time.Now(), firstLook
	var deep time.Time          // when daemons were last looked for
	var deepAfter time.Duration // how long after that to look again
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
		if since := at.Sub(deep); h.gone || since > deepAfter && (since > settledPause || !h.settled()) {
			h.daemons, h.gone = map[int]daemon{}, false
			h.belowAll(h.tops(), "", 0)
			deep = time.Now()
			deepAfter = min(mostPause, max(scale(over, max(deepPause, deepShare*time.Since(at))), 4*late))
		}
		found := time.Now()
		h.ranks()
		pause = max(huntPause, huntShare*time.Since(found), 8*late)
		if len(h.daemons) == 0 {
			pause = time.Until(deep.Add(deepAfter))
		}
		if over > 1 {
			pause = max(pause, scale(over, max(busyPause, busyShare*time.Since(at))))
		}
		pause = min(pause, mostPause)
		if time.Since(looked) > min(scale(over, min(between, o.longestLook())), o.frozenLook()) {
			o.lookOnce()
			looked, between = time.Now(), min(2*between, o.longestLook())
		}
	}
}

// settled reports whether each session that runs a line has a daemon.
func (h *hunter) settled() bool {
	has := map[*session]bool{}
	for _, d := range h.daemons {
		has[d.session] = true
	}
	return !slices.ContainsFunc(h.o.srv.living(), func(x *session) bool { return x.line && !has[x] })
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

// tops lists the children of this process that may be daemons or have them below: the first
// processes of sessions, and orphans, which the kernel gives to the main thread. To read the list of
// each of a Go program's threads would take several times as long.
func (h *hunter) tops() []int {
	self := strconv.Itoa(os.Getpid())
	all, _ := h.childrenOf("/proc/" + self + "/task/" + self) // without it, only those of sessions
	for _, x := range h.o.srv.living() {
		if p := x.process(); p != nil && !slices.Contains(all, p.PID()) {
			all = append(all, p.PID())
		}
	}
	return all
}

// belowAll looks for daemons among pids, whose parent has the name comm, and among their
// descendants.
func (h *hunter) belowAll(pids []int, comm string, depth int) {
	for _, pid := range pids {
		p := h.stat(pid)
		switch {
		case p.PID == 0 || depth == mostDeep:
			continue // it has ended
		case names.IsMPIDaemon(p.Comm) && (p.Comm != comm || h.leads(p)):
			h.foundDaemon(p)
			h.belowAll(h.children(p), p.Comm, depth+1)
		case !names.IsMPIDaemon(comm):
			h.belowAll(h.children(p), p.Comm, depth+1)
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
func (h *hunter) children(p reap.Proc) (all []int) {
	pid := strconv.Itoa(p.PID)
	dir := "/proc/" + pid + "/task"
	if p.Threads == 1 {
		all, _ = h.childrenOf(dir + "/" + pid) // it has ended
		return all
	}
	threads, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, t := range threads {
		children, _ := h.childrenOf(dir + "/" + t.Name()) // it has ended
		all = append(all, children...)
	}
	return all
}

// childrenOf lists the children of one thread. The error means that the thread has ended.
func (h *hunter) childrenOf(thread string) (all []int, err error) {
	if err := reap.ReadFile(thread+"/children", &h.buf); err != nil {
		return nil, err
	}
	for _, word := range bytes.Fields(h.buf.Bytes()) {
		if child, err := strconv.Atoi(string(word)); err == nil {
			all = append(all, child)
		}
	}
	return all, nil
}

// foundDaemon handles a daemon.
func (h *hunter) foundDaemon(p reap.Proc) {
	key := being{p.PID, p.Start}
	x := h.homes[key]
	if h.daemons[p.PID] = (daemon{p.Comm, x}); x != nil {
		return
	}
	x = h.o.sessionOf(p.PID)
	if x == nil || !p.Alive() {
		return // has not completed execve yet
	}
	h.o.looking.Lock()
	defer h.o.looking.Unlock()
	h.o.see(x, p, ofDaemon)
	h.homes[key], h.daemons[p.PID] = x, daemon{p.Comm, x}
	h.until = time.Now().Add(huntFor)
}

// ranks checks the children of the daemons.
func (h *hunter) ranks() {
	for pid, d := range h.daemons {
		h.ranksOf(pid, d)
	}
}

// ranksOf checks the children of one daemon. Its main thread starts them. The daemon of Open MPI 5 is
// a child of a process of the same name that only waits for it. The daemon of Intel MPI is a child of
// another one.
func (h *hunter) ranksOf(pid int, d daemon) {
	id := strconv.Itoa(pid)
	children, err := h.childrenOf("/proc/" + id + "/task/" + id)
	h.gone = h.gone || err != nil
	for _, child := range children {
		p := h.stat(child)
		if names.IsMPIDaemon(p.Comm) && p.Comm != d.command {
			// The daemon may have become another program. Its child then has not.
			now := h.stat(pid)
			if h.gone = h.gone || now.PID == 0; now.PID == 0 {
				return
			}
			d.command = now.Comm
			h.daemons[pid] = d
		}
		switch _, isDaemon := h.daemons[child]; {
		case isDaemon || p.PID == 0 || !p.Alive() || h.grown[being{p.PID, p.Start}]:
		case names.IsMPIDaemon(p.Comm) && (p.Comm != d.command || h.leads(p)):
			h.foundDaemon(p)
			h.ranksOf(child, h.daemons[child])
		default:
			h.foundRank(p, d)
		}
	}
}

// leads reports whether a child of a daemon that has its name is a daemon: it has children, or is
// older than longestUnborn. A rank has this name until its execve.
func (h *hunter) leads(p reap.Proc) bool {
	id := strconv.Itoa(p.PID)
	children, _ := h.childrenOf("/proc/" + id + "/task/" + id) // it has ended
	return (len(children) > 0 || p.Age() > longestUnborn) && stillRuns(p)
}

// stillRuns reports whether a process runs the program that it ran when p was read. If so, what was
// read since then is true of that program.
func stillRuns(p reap.Proc) bool {
	var buf bytes.Buffer
	now, err := reap.Stat(p.PID, &buf)
	return err == nil && now.Start == p.Start && now.Comm == p.Comm
}

// foundRank handles a child of a daemon: a rank, or a process that becomes one at its execve.
func (h *hunter) foundRank(p reap.Proc, d daemon) {
	key := being{p.PID, p.Start}
	kind := ofRank
	if p.Comm == d.command {
		kind = ofUnborn
	}
	if kind == ofRank && time.Since(h.seen[key]) < youngPause {
		return
	}
	x := d.session
	if x == nil {
		x = h.o.sessionOf(p.PPID)
	}
	if x == nil {
		return
	}
	h.o.looking.Lock()
	defer h.o.looking.Unlock()
	w := h.o.see(x, p, kind)
	if w == nil {
		return
	}
	if kind == ofUnborn { // or a daemon that has no ranks yet
		if until := time.Now().Add(huntAfter); until.After(h.until) {
			h.until = until
		}
		return
	}
	if _, known := h.seen[key]; !known {
		h.seen[key], h.until = time.Time{}, time.Now().Add(huntAfter)
	}
	age := time.Since(w.seen)
	if w.rank != "" || age > bornFor {
		h.seen[key] = time.Now()
	}
	if age > youngFor {
		h.grown[key] = true
	}
}
