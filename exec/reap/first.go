//go:build linux

package reap

import (
	"bytes"
	"slices"
	"strings"
	"syscall"
)

// first returns the processes that the stop asks before all others: the ranks, or all processes if
// there are no ranks. It returns none if only launchers are left, whose ranks run on other
// machines.
func (s *stop) first(alive []Proc, sig syscall.Signal) []Proc {
	ranks := Ranks(alive, sig)
	s.watched.watch(ranks)
	switch {
	case len(ranks) > 0:
		return ranks
	case len(launchersOf(alive)) == len(alive):
		return nil
	}
	return alive
}

// Ranks returns the processes of procs that can save their work when a stop sends sig. These are
// the topmost processes with a rank's numbers below launchers and daemons, or the first process of
// a session without numbers. A shell or a wrapper stands for what it runs. Processes that a rank
// has started are helpers, and are not returned.
//
// There are two exceptions. If a rank would die of sig, the processes below it that handle sig are
// returned in its place: the children of torch.multiprocessing.spawn save while their parent waits.
// A shell with a trap is returned in addition to what it runs. The result is empty if procs are
// only launchers and their connections to other machines.
func Ranks(procs []Proc, sig syscall.Signal) []Proc {
	var buf bytes.Buffer
	return ranks(procs, facts{
		numbers: func(p Proc) Numbers { return numbersOf(p, &buf) },
		answer:  func(p Proc) answer { return answerOf(p, sig, &buf) },
		argv:    func(p Proc) []string { return argvOf(p, &buf) },
	})
}

// facts are what a stop reads about a process in addition to the scan.
type facts struct {
	numbers func(Proc) Numbers
	answer  func(Proc) answer
	argv    func(Proc) []string
}

// asking determines which processes a stop asks first. Processes are identified by their index.
type asking struct {
	facts
	all     []Proc
	kids    map[int][]int // by pid
	numbers []Numbers
	answers []answer
	kinds   []kind
}

func ranks(procs []Proc, f facts) []Proc {
	a := &asking{facts: f, kids: map[int][]int{}}
	at := map[int]bool{}
	for _, p := range procs {
		if p.Alive() {
			a.kids[p.PPID] = append(a.kids[p.PPID], len(a.all))
			a.all, a.numbers, a.answers = append(a.all, p), append(a.numbers, f.numbers(p)), append(a.answers, f.answer(p))
			at[p.PID] = true
		}
	}
	for _, p := range a.all {
		a.kinds = append(a.kinds, kindOf(p, f.argv))
	}
	var roots []int
	first := false
	for i, p := range a.all {
		if !at[p.PPID] {
			roots, first = append(roots, i), first || p.First
		}
	}
	slices.SortStableFunc(roots, func(i, j int) int { return a.order(i) - a.order(j) })
	var picks []int
	for _, i := range roots {
		if !a.helps(i, picks, first) {
			picks = append(picks, a.visit(i)...)
		}
	}
	slices.Sort(picks)
	var found []Proc
	for _, i := range slices.Compact(picks) {
		p := a.all[i]
		p.Numbers = a.numbers[i]
		found = append(found, p)
	}
	return found
}

// order puts the first processes of sessions, and launchers, before processes that may be their
// daemons.
func (a *asking) order(i int) int {
	switch {
	case a.all[i].First:
		return 0
	case a.kinds[i] == launcher:
		return 1
	}
	return 2
}

// helps reports whether a process whose parent has ended is a helper that left its rank. It has the
// numbers of a rank in picks or, beside the first process of a session, no numbers.
func (a *asking) helps(i int, picks []int, first bool) bool {
	if a.order(i) < 2 {
		return false
	}
	if !a.numbers[i].some() {
		return first && !slices.ContainsFunc(a.kids[a.all[i].PID], func(k int) bool { return a.numbers[k].some() })
	}
	return slices.ContainsFunc(picks, func(k int) bool { return a.numbers[k].shares(a.numbers[i]) && !a.numbers[k].conflicts(a.numbers[i]) })
}

// visit returns the ranks at i and below.
func (a *asking) visit(i int) []int {
	switch {
	case a.kinds[i] == launcher || (a.kinds[i] == plain || a.kinds[i] == pooled) && a.launches(i):
		return a.launched(i)
	case a.kinds[i] == shell || a.kinds[i] == wrapper:
		return a.wrapped(i)
	}
	return a.rank(i)
}

// launched returns the ranks below a launcher: below its children that have numbers, if any has.
// The launcher's own helpers may have its numbers too.
func (a *asking) launched(i int) (picks []int) {
	best := 1
	for _, k := range a.kids[a.all[i].PID] {
		best = max(best, a.worth(k))
	}
	for _, k := range a.kids[a.all[i].PID] {
		if a.worth(k) == best {
			picks = append(picks, a.visit(k)...)
		}
	}
	return picks
}

// worth says how likely a launcher's child is a rank; 0 means that it is none.
func (a *asking) worth(k int) int {
	switch {
	case slices.Contains(remote, a.all[k].Comm) || a.kinds[k] == tracker || a.calls(k):
		return 0
	case a.kinds[k] == launcher || a.numbers[k].some() && a.kinds[k] != pooled:
		return 3
	case a.numbers[k].some():
		return 2
	}
	return 1
}

// calls reports whether a launcher's child exists only for a remote command: horovodrun has a
// multiprocessing process for each ssh.
func (a *asking) calls(k int) bool {
	below := a.unwrap(k)
	return a.kinds[k] == pooled && len(below) > 0 && !slices.ContainsFunc(below, func(i int) bool { return !slices.Contains(remote, a.all[i].Comm) })
}

// launches reports whether an unknown program starts ranks: its children have different numbers, or
// numbers that it does not have. A program may put numbers into its own environment while it runs,
// and its multiprocessing children then have them. Processes that would die of the signal have
// nothing to save.
func (a *asking) launches(i int) bool {
	mine := a.numbers[i]
	var seen []Numbers
	for _, k := range a.unwrap(i) {
		n := a.numbers[k]
		if n.conflicts(mine) || slices.ContainsFunc(seen, n.conflicts) ||
			!mine.some() && n.some() && a.kinds[k] == plain && a.answers[k] == handles {
			return true
		}
		seen = append(seen, n)
	}
	return false
}

// unwrap returns the children of i, and replaces shells and wrappers by their children.
func (a *asking) unwrap(i int) (found []int) {
	for _, k := range a.kids[a.all[i].PID] {
		if kids := a.kids[a.all[k].PID]; len(kids) > 0 && (a.kinds[k] == shell || a.kinds[k] == wrapper) {
			found = append(found, a.unwrap(k)...)
		} else {
			found = append(found, k)
		}
	}
	return found
}

// wrapped returns the ranks below a shell or a wrapper.
func (a *asking) wrapped(i int) []int {
	kids := a.kids[a.all[i].PID]
	if len(kids) == 0 {
		return []int{i}
	}
	var picks []int
	for _, k := range kids {
		if !slices.Contains(remote, a.all[k].Comm) {
			picks = append(picks, a.visit(k)...)
		}
	}
	saves := func(k int) bool { return a.answers[k] != dies }
	kept := slices.DeleteFunc(slices.Clone(picks), func(k int) bool { // python | tee
		return !saves(k) && slices.ContainsFunc(picks, func(o int) bool { return saves(o) && !a.numbers[o].conflicts(a.numbers[k]) })
	})
	// What a shell runs ignores the same signals as the shell, and comes and goes.
	deaf := a.answers[i] == ignores && !slices.ContainsFunc(kept, func(k int) bool { return a.answers[k] == handles })
	switch {
	case a.kinds[i] != shell || len(kept) == 0:
	case (deaf || !slices.ContainsFunc(kept, saves)) && !a.several(kept):
		return a.whole(i, nil) // it must not continue, and a trap waits for the command in the foreground
	case a.answers[i] == handles && a.numbers[i].some():
		return append(kept, i) // a script that is a rank learns of the stop before it continues
	}
	return kept
}

// several reports whether picks contains ranks with different numbers.
func (a *asking) several(picks []int) bool {
	return slices.ContainsFunc(picks, func(k int) bool { return a.numbers[k].conflicts(a.numbers[picks[0]]) })
}

// whole appends i and all its descendants to list.
func (a *asking) whole(i int, list []int) []int {
	list = append(list, i)
	for _, k := range a.kids[a.all[i].PID] {
		list = a.whole(k, list)
	}
	return list
}

// rank returns i, or the processes below it that save in its place.
func (a *asking) rank(i int) []int {
	if a.answers[i] == dies {
		if picks := a.savers(i); len(picks) > 0 {
			return picks
		}
	}
	return []int{i}
}

// savers returns the topmost processes below i that handle the signal.
func (a *asking) savers(i int) (picks []int) {
	for _, k := range a.kids[a.all[i].PID] {
		if a.answers[k] == handles && a.kinds[k] != tracker && a.kinds[k] != wrapper {
			picks = append(picks, k)
		} else {
			picks = append(picks, a.savers(k)...)
		}
	}
	return picks
}

// rankVariables contain the number of a rank. A launcher sets some of them for each process that it
// starts; helpers inherit the values of their rank.
var rankVariables = [...]string{"RANK", "LOCAL_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK",
	"HOROVOD_RANK", "PADDLE_TRAINER_ID", "JAX_PROCESS_ID", "SLURM_PROCID"}

// LongestNumber is the longest value of a rank variable that counts as a number, in bytes.
const LongestNumber = 19

// Numbers are the values of rankVariables in the environment of a process. It has "" for a variable
// that the process does not have, and for a value that is longer than LongestNumber.
type Numbers [len(rankVariables)]string

func (n Numbers) some() bool { return n != Numbers{} }

// conflicts reports whether n and o belong to different ranks.
func (n Numbers) conflicts(o Numbers) bool {
	for i := range n {
		if n[i] != "" && o[i] != "" && n[i] != o[i] {
			return true
		}
	}
	return false
}

// shares reports whether n and o have an equal value of a variable.
func (n Numbers) shares(o Numbers) bool {
	for i := range n {
		if n[i] != "" && n[i] == o[i] {
			return true
		}
	}
	return false
}

// numbersIn reads NUL-separated K=V records. The first record of a name counts that is not too long.
func numbersIn(environ []byte) (n Numbers) {
	for len(environ) > 0 {
		record, rest, _ := bytes.Cut(environ, []byte{0})
		environ = rest
		name, value, _ := bytes.Cut(record, []byte("="))
		for i, want := range rankVariables {
			if n[i] == "" && string(name) == want && len(value) <= LongestNumber {
				n[i] = strings.Clone(string(value))
			}
		}
	}
	return n
}
