//go:build linux

package reap

import (
	"bytes"
	"strconv"
	"strings"
	"syscall"
)

// rankVariables give a rank its number. A launcher sets one of them anew for each
// process that it starts; helpers inherit those of their rank. torchrun may have RANK and
// LOCAL_RANK of its own, but none of the next two.
var rankVariables = [...]string{"RANK", "LOCAL_RANK", "ROLE_RANK", "TORCHELASTIC_RUN_ID", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
	"HOROVOD_RANK", "PADDLE_TRAINER_ID", "JAX_PROCESS_ID"}

// shells run a handler only when the command in their foreground has ended, and pass
// no signal on by themselves.
var shells = map[string]bool{"sh": true, "bash": true, "dash": true, "ash": true, "busybox": true, "zsh": true, "ksh": true, "mksh": true}

// passers hand a signal on to what they have started, some of them to a whole process
// group, or kill it. They have nothing to save.
var passers = map[string]bool{"timeout": true, "tini": true, "dumb-init": true, "catatonit": true,
	"torchrun": true, "pt_elastic": true, "accelerate": true, "deepspeed": true, "horovodrun": true,
	"mpirun": true, "mpiexec": true, "mpiexec.hydra": true, "prterun": true}

// asking says in which order a stop asks processes to end.
type asking struct {
	kids map[int][]int // pid -> indices
	rank []string      // by index: the rank that it belongs to; "": none
	mind []bool        // by index: it does not simply die of the signal
	in   []bool        // by index: asked first
	all  []Proc
}

// First returns the processes that a stop by sig asks before all others: the ranks.
// A rank is the topmost process of a rank's number. Where it would die of sig without
// a handler, or is a shell, those below it that mind sig come first. Of processes
// without a number, these are the lowest that mind sig; everybody, where nobody does.
func First(members []Proc, sig syscall.Signal) []Proc {
	var buf bytes.Buffer
	return first(members, func(p Proc) string { return rankOf(p, &buf) }, func(p Proc) bool { return minds(p, sig, &buf) })
}

func first(members []Proc, rank func(Proc) string, minds func(Proc) bool) []Proc {
	a := &asking{kids: map[int][]int{}, all: make([]Proc, 0, len(members))}
	at := map[int]bool{}
	for _, p := range members {
		if p.Alive() {
			a.kids[p.PPID] = append(a.kids[p.PPID], len(a.all))
			a.all, a.rank, a.mind = append(a.all, p), append(a.rank, rank(p)), append(a.mind, minds(p) && !passers[p.Comm])
			at[p.PID] = true
		}
	}
	a.in = make([]bool, len(a.all))
	for i, p := range a.all {
		if !at[p.PPID] {
			a.inherit(i)
			if !a.ranks(i) {
				a.choose(i)
			}
		}
	}
	var found []Proc
	for i, p := range a.all {
		if a.in[i] {
			found = append(found, p)
		}
	}
	return found
}

// inherit gives the number of i to those below it that have none.
func (a *asking) inherit(i int) {
	for _, k := range a.kids[a.all[i].PID] {
		if a.rank[k] == "" {
			a.rank[k] = a.rank[i]
		}
		a.inherit(k)
	}
}

// ranks chooses among the ranks from i down, and reports whether there is one: a
// process of another number than its parent, below which no other number is. Its
// siblings are ranks as well: a launcher may have the number of one of them.
func (a *asking) ranks(i int) (found bool) {
	var same []int
	other := false
	for _, k := range a.kids[a.all[i].PID] {
		switch {
		case a.ranks(k):
			found = true
		case a.rank[k] != a.rank[i]:
			a.choose(k)
			other = true
		case a.rank[k] != "":
			same = append(same, k)
		}
	}
	if other {
		for _, k := range same {
			a.choose(k)
		}
	}
	return found || other
}

// choose marks those who are asked first from i down, which is a rank or belongs to none.
func (a *asking) choose(i int) {
	if !a.pick(i) {
		a.take(i)
	}
}

// pick marks those who mind from i down, and reports whether there are any.
func (a *asking) pick(i int) (found bool) {
	numbered, shell := a.rank[i] != "", shells[a.all[i].Comm]
	if numbered && a.mind[i] && !shell {
		a.in[i] = true // what is below is its own
		return true
	}
	for _, k := range a.kids[a.all[i].PID] {
		found = a.pick(k) || found
	}
	switch {
	case !a.mind[i]:
	case shell && !found:
		a.take(i) // its handler waits for the command in its foreground
		return true
	case numbered || !found:
		a.in[i] = true
		return true
	}
	return found
}

// take marks everybody from i down.
func (a *asking) take(i int) {
	a.in[i] = true
	for _, k := range a.kids[a.all[i].PID] {
		a.take(k)
	}
}

// rankOf reads the numbers that a process has as a rank; "" where it has none, or may
// not be asked.
func rankOf(p Proc, buf *bytes.Buffer) string {
	if ReadFile("/proc/"+strconv.Itoa(p.PID)+"/environ", buf) != nil {
		return ""
	}
	var numbers []string
	some := false
	for _, name := range rankVariables {
		value := lookup(buf.Bytes(), name)
		numbers, some = append(numbers, value), some || value != ""
	}
	if !some {
		return ""
	}
	return strings.Join(numbers, "\x00")
}

// minds reports whether a process catches, blocks or ignores sig, as /proc/PID/status
// has it (proc_pid_status(5)). One that may not be read does not.
func minds(p Proc, sig syscall.Signal, buf *bytes.Buffer) bool {
	if ReadFile("/proc/"+strconv.Itoa(p.PID)+"/status", buf) != nil {
		return false
	}
	for line := range bytes.Lines(buf.Bytes()) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch string(name) {
		case "SigBlk", "SigIgn", "SigCgt":
			set, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 16, 64)
			if err == nil && set&(1<<(sig-1)) != 0 {
				return true
			}
		}
	}
	return false
}
