//go:build linux

package reap

import (
	"bytes"
	"fmt"
	"os"
	"sync"
)

// Below returns all processes whose chain of parents leads to the process root, without root.
// Processes that a container runtime started beside PID 1 (such as a user's shell) have parent 0,
// and are not included.
func Below(procs []Proc, root int) []Proc {
	return grow(procs, func(p Proc) bool { return p.PPID == root })
}

// Descends reports whether the chain of parents of the process pid leads to root. The process root
// does not descend from itself. The error means that pid has ended, or that /proc does not show it.
func Descends(pid, root int) (bool, error) {
	const tries = 10 // if a parent ends during a scan, its children get another
	var buf bytes.Buffer
	var err error
	for range tries {
		p := Proc{PID: pid, PPID: pid}
		for p.PPID > 0 && p.PID != root {
			if p, err = Stat(p.PPID, &buf); err != nil {
				break
			}
		}
		if err == nil {
			return p.PID == root && pid != root, nil
		}
	}
	return false, fmt.Errorf("find the parents of process %d: %w", pid, err)
}

// grow returns the seeds and their descendants, in the order of procs. It never returns PID 1 and
// this process, whatever their environment contains.
func grow(procs []Proc, seed func(Proc) bool) []Proc {
	self := os.Getpid()
	children := make(map[int][]int, len(procs)) // pid -> indices
	for i, p := range procs {
		children[p.PPID] = append(children[p.PPID], i)
	}
	in := make([]bool, len(procs))
	var queue []int
	add := func(i int) {
		if pid := procs[i].PID; !in[i] && pid != 1 && pid != self {
			in[i] = true
			queue = append(queue, i)
		}
	}
	for i, p := range procs {
		if seed(p) {
			add(i)
		}
	}
	for len(queue) > 0 {
		i := queue[0]
		queue = queue[1:]
		for _, c := range children[procs[i].PID] {
			add(c)
		}
	}
	var found []Proc
	for i, p := range procs {
		if in[i] {
			found = append(found, p)
		}
	}
	return found
}

type identity struct {
	pid   int
	start uint64
}

func (p Proc) identity() identity { return identity{p.PID, p.Start} }

// Tree finds the processes of one session and remembers them. A process that belonged to it
// once always does, with all its descendants, even if its parent ends and its environment is empty. Tree
// is safe for concurrent use.
type Tree struct {
	table *Table
	id    string

	mu sync.Mutex
	// Processes of the last two scans. One scan may miss a process, and an orphan is looked up after
	// it has left /proc.
	now, before map[identity]bool
	first       identity             // the process that was added last
	numbers     map[identity]Numbers // the numbers that a scan has read, for processes that have some
}

// NewTree returns the tree of session id, whose processes have env=id in their environment. It has a
// Table of its own.
func NewTree(env, id string) *Tree { return NewTable(env).Tree(id) }

// Tree returns the tree of session id, whose processes have the Marker id.
func (t *Table) Tree(id string) *Tree { return &Tree{table: t, id: id, now: map[identity]bool{}} }

// Add adds p from the first moment, because the environment of a process reads as empty
// during execve.
func (t *Tree) Add(p *Process) {
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	if p.gone {
		return
	}
	var buf bytes.Buffer
	if s, err := readStat(p.pid, &buf); err == nil {
		t.mu.Lock()
		t.now[s.identity()], t.first = true, s.identity()
		t.mu.Unlock()
	}
}

// Find scans /proc and returns the session's processes, including ended ones that are not collected (see
// Proc.Alive). Processes that were known before may have no Marker.
func (t *Tree) Find() ([]Proc, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	procs, err := t.table.scan(t.known)
	if err != nil {
		return nil, err
	}
	found := t.among(procs)
	t.before, t.now = t.now, make(map[identity]bool, len(found))
	for _, p := range found {
		t.now[p.identity()] = true
	}
	t.remember(found)
	return found, nil
}

// known reports whether p was found in one of the last two scans. Called with t.mu held.
func (t *Tree) known(p Proc) bool { return t.now[p.identity()] || t.before[p.identity()] }

// among returns the session's processes among procs: those that have the session's mark or are known, and all
// their descendants. An empty id matches no process. Called with t.mu held.
func (t *Tree) among(procs []Proc) []Proc {
	return grow(procs, func(p Proc) bool { return t.id != "" && p.Marker == t.id || t.known(p) })
}

// remember completes found with what was known before, and keeps what is new.
func (t *Tree) remember(found []Proc) {
	old := t.numbers
	t.numbers = nil
	for i, p := range found {
		n := p.Numbers
		if !n.some() {
			n = old[p.identity()]
		}
		if n.some() {
			if t.numbers == nil {
				t.numbers = map[identity]Numbers{}
			}
			t.numbers[p.identity()] = n
		}
		found[i].Numbers, found[i].First = n, p.identity() == t.first
	}
}
