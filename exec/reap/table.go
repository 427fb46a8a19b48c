//go:build linux

package reap

import (
	"bytes"
	"fmt"
	"strconv"
	"sync"
)

// Table is /proc, scanned for many callers at once: when the ranks of a worker end, each of their
// sessions scans. Calls that come during a scan share the next one, so each result is newer than its
// call. The environment of a process is read once for each program that it runs. A Table is safe for
// concurrent use.
type Table struct {
	env  string     // name of the marker variable
	turn sync.Mutex // held during a scan

	mu   sync.Mutex
	next *pass // the scan that begins after the current one; nil: nobody waits for one

	environs map[identity]environ // of processes in the last scan; guarded by turn
}

// pass is one scan.
type pass struct {
	known []func(Proc) bool // for each caller: whether it needs no marker of a process
	done  chan struct{}     // closed at its end
	procs []Proc            // read-only, because callers share it
	err   error
}

// environ is what was read from the environment of a process. It is valid as long as the process
// runs the same program. The kernel puts the environment of each program at another place, unless
// that is turned off.
type environ struct {
	at      [2]uint64
	comm    string
	marker  string
	numbers Numbers
}

// NewTable returns a table whose processes have the value of the variable env as their Marker.
func NewTable(env string) *Table { return &Table{env: env} }

// Table returns the table of this Reaper for the marker variable env.
func (r *Reaper) Table(env string) *Table {
	r.tablesMu.Lock()
	defer r.tablesMu.Unlock()
	if r.tables == nil {
		r.tables = map[string]*Table{}
	}
	if r.tables[env] == nil {
		r.tables[env] = NewTable(env)
	}
	return r.tables[env]
}

// Scan returns the processes that were there after the call. A process that ends during the scan is
// left out. A process whose environment may not be read has no marker. The result is no snapshot: a
// process that was forked during the scan may be missing. Do not change the result.
func (t *Table) Scan() ([]Proc, error) { return t.scan(func(Proc) bool { return false }) }

// scan may leave out the markers of known processes. It calls known from another goroutine.
func (t *Table) scan(known func(Proc) bool) ([]Proc, error) {
	t.mu.Lock()
	p := t.next
	if p == nil {
		p = &pass{done: make(chan struct{})}
		t.next = p
	}
	p.known = append(p.known, known)
	first := len(p.known) == 1
	t.mu.Unlock()
	if !first {
		<-p.done
		return p.procs, p.err
	}
	defer close(p.done)
	t.turn.Lock()
	defer t.turn.Unlock()
	t.mu.Lock()
	t.next = nil // later calls need a later scan
	t.mu.Unlock()
	p.procs, p.err = t.pass(p.known)
	return p.procs, p.err
}

// pass reads /proc once. Called with t.turn held.
func (t *Table) pass(known []func(Proc) bool) ([]Proc, error) {
	names, err := readNames("/proc")
	if err != nil {
		return nil, fmt.Errorf("scan processes: %w", err)
	}
	var procs []Proc
	var buf bytes.Buffer
	environs := make(map[identity]environ, len(t.environs))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		p, err := readStat(pid, &buf)
		if err != nil {
			continue // it has ended
		}
		if p.Alive() && !p.kernel {
			e, whole := t.environs[p.identity()]
			if !whole || p.env[1] == 0 || e.at != p.env || e.comm != p.Comm {
				e, whole = environ{}, false
				if !all(known, p) {
					e, whole = readEnviron(p, t.env, &buf)
				}
			}
			if p.Marker, p.Numbers = e.marker, e.numbers; whole {
				environs[p.identity()] = e
			}
		}
		procs = append(procs, p)
	}
	t.environs = environs
	return procs, nil
}

func all(known []func(Proc) bool, p Proc) bool {
	for _, is := range known {
		if !is(p) {
			return false
		}
	}
	return true
}

// readEnviron reads the environment of p. whole is false if it may only be a part.
func readEnviron(p Proc, env string, buf *bytes.Buffer) (e environ, whole bool) {
	if Environ(p.PID, buf) != nil {
		return environ{}, false
	}
	e = environ{p.env, p.Comm, lookup(buf.Bytes(), env), numbersIn(buf.Bytes())}
	return e, buf.Len() > 0 && uint64(buf.Len()) == p.env[1]-p.env[0]
}
