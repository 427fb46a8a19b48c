package stacks

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Limits of what is printed.
const (
	mostPlaces  = 12
	shownFrames = 24 // of a thread
	shownStacks = 6  // threads of a rank
	mostNames   = 8  // of processes without a number, and of single ranks
)

// Lines says where the ranks are. Ranks in the same place are listed once: the suspects first, then
// the smallest groups. Each place has a line with its ranks, and lines with its frames.
func Lines(ranks []Rank, suspects []int) (lines []string) {
	index := map[string]int{}
	var groups [][]int
	for i, r := range ranks {
		key := r.key()
		at, there := index[key]
		if !there {
			at = len(groups)
			index[key] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], i)
	}
	accused := func(group []int) int {
		if slices.ContainsFunc(group, func(i int) bool { return slices.Contains(suspects, i) }) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(groups, func(a, b []int) int {
		return cmp.Or(accused(a)-accused(b), len(a)-len(b))
	})
	for i, group := range groups {
		if i == mostPlaces {
			lines = append(lines, fmt.Sprintf("and %d more places", len(groups)-i))
			break
		}
		first := ranks[group[0]]
		lines = append(lines, Names(pick(ranks, group))+": "+first.where()+first.detail())
		lines = append(lines, first.frames()...)
	}
	return lines
}

// key is equal for ranks in the same place.
func (r Rank) key() string {
	p := r.Record.Process
	if frames := main(r.stack); len(frames) > 0 {
		_, words := r.doing()
		return words + listing(frames)
	}
	if frames := r.nativeMain(); len(frames) > 0 {
		_, words := r.doing()
		if i := r.mpiFrame(); i >= 0 { // the frames below it change while a rank polls
			return words + listing(frames[i:])
		}
		return words + p.Call + listing(frames)
	}
	return strings.Join([]string{p.Command, p.State, p.Call, p.Waiting, r.Record.Why}, "\x00")
}

// listing is equal for equal frames.
func listing(frames []Frame) string {
	var b strings.Builder
	for _, f := range frames {
		b.WriteString("\x00" + f.File + "\x00" + strconv.Itoa(f.Line) + "\x00" + f.Func + "\x00" + f.Module)
	}
	return b.String()
}

// detail returns " (python3, pid 45, 12 threads; futex, kernel: futex_wait_queue)".
func (r Rank) detail() string {
	p := r.Record.Process
	text := fmt.Sprintf(" (%s, pid %d", visible(p.Command), p.PID)
	if p.Threads > 1 {
		text += fmt.Sprintf(", %d threads", p.Threads)
	}
	switch {
	case p.Refused:
		text += "; system call not shown: not permitted"
	case p.Call != "":
		text += "; " + p.Call
	default:
		text += "; no system call"
	}
	if p.Waiting != "" {
		text += ", kernel: " + visible(p.Waiting)
	}
	switch {
	case r.Record.By != "":
		text += "; by " + visible(r.Record.By)
	case r.Record.Why != "":
		text += "; no stack: " + r.Why()
	}
	return text + ")"
}

// frames returns the stacks of the rank, the main thread's first. Without stacks it returns what
// the threads do in the kernel.
func (r Rank) frames() (lines []string) {
	stack, mine := r.stack, mainIndex(r.stack)
	if len(stack) == 0 {
		stack, mine = slices.Clone(r.native), len(r.native)-1
		slices.Reverse(stack)
	}
	if len(stack) == 0 {
		return r.calls()
	}
	for _, f := range stack[mine].Frames[:min(len(stack[mine].Frames), shownFrames)] {
		lines = append(lines, "  "+f.line())
	}
	shown := 1
	for i := len(stack) - 1; i >= 0 && shown < shownStacks; i-- {
		t := stack[i]
		if i == mine || len(t.Frames) == 0 {
			continue
		}
		shown++
		lines = append(lines, "  another thread:")
		for _, f := range t.Frames[:min(len(t.Frames), shownFrames/4)] {
			lines = append(lines, "    "+f.line())
		}
	}
	return lines
}

// calls returns the system calls of its threads, with equal ones combined.
func (r Rank) calls() (lines []string) {
	counts := map[string]int{}
	var order []string
	for _, t := range r.Record.Threads {
		text := visible(t.Command) + ": " + cmp.Or(visible(t.Call), "no system call")
		if t.Waiting != "" {
			text += ", kernel: " + visible(t.Waiting)
		}
		if counts[text]++; counts[text] == 1 {
			order = append(order, text)
		}
	}
	if len(r.Record.Threads) < 2 {
		return nil
	}
	for _, text := range order[:min(len(order), shownStacks)] {
		lines = append(lines, fmt.Sprintf("  %d x thread %s", counts[text], text))
	}
	return lines
}

// Names returns "ranks 0-509, 511", or "rank 3 on pi-worker-1" for a single rank.
func Names(ranks []Rank) string {
	if len(ranks) == 1 {
		return ranks[0].on()
	}
	var numbers []int
	var names []string
	for _, r := range ranks {
		if r.Number >= 0 {
			numbers = append(numbers, r.Number)
		} else {
			names = append(names, r.on())
		}
	}
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	var spans []string
	for len(numbers) > 0 {
		n := 1
		for n < len(numbers) && numbers[n] == numbers[0]+n {
			n++
		}
		span := strconv.Itoa(numbers[0])
		switch {
		case n > 2:
			span += "-" + strconv.Itoa(numbers[n-1])
		case n == 2:
			n = 1
		}
		spans, numbers = append(spans, span), numbers[n:]
	}
	if more := len(spans) - 4*mostNames; more > 0 {
		spans = append(spans[:4*mostNames], fmt.Sprintf("and %d more", more))
	}
	if len(spans) > 0 {
		word := "ranks "
		if len(spans) == 1 && !strings.Contains(spans[0], "-") {
			word = "rank "
		}
		names = append([]string{word + strings.Join(spans, ", ")}, names...)
	}
	if more := len(names) - mostNames; more > 0 {
		names = append(names[:mostNames], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}
