package stacks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/agent/lazyregexp"
)

// Failure is the end of the rank that failed first.
type Failure struct {
	Sentence string   // "rank 1 on pi-worker-1 exited with 1"
	Tail     []string // its last lines
	Mixed    bool     // Tail also has lines of other ranks and of their mpirun
}

// Verdict says which ranks the others wait for.
type Verdict struct {
	Sentence string // "" if nothing can be said
	Suspects []int  // indices of ranks; empty: no rank is blamed
}

// Facts returns the sentence without the advice which rank to look at.
func (v Verdict) Facts() string {
	facts, _, _ := strings.Cut(v.Sentence, ". Look at ")
	return facts
}

// mostNamed limits the ranks that a sentence describes one by one.
const mostNamed = 3

// OfFailure examines where the live ranks were when another one had failed. Only a failure by a
// timeout while waiting for others says anything about them.
func OfFailure(f Failure, ranks []Rank) Verdict {
	if f.Mixed {
		f.Tail = timeouts(f.Tail)
	}
	waited := timedOut(f.Tail)
	if waited == "" {
		return Verdict{}
	}
	began := f.Sentence + " (" + waited + ")"
	suspects := missing(ranks)
	if len(suspects) == 0 || len(suspects) > 1 && len(suspects) == len(ranks) {
		return Verdict{Sentence: began}
	}
	return Verdict{began + "; " + missed(ranks, suspects, "was"), suspects}
}

// OfHang examines where the ranks of a hung job are.
func OfHang(ranks []Rank) Verdict {
	var waiting []int
	var gone []string
	for i, r := range ranks {
		switch a, words := r.doing(); a {
		case waits:
			waiting = append(waiting, i)
		case left:
			gone = append(gone, r.on()+r.at()+" is "+words)
		}
	}
	suspects := missing(ranks)
	switch {
	case len(waiting) > 0 && len(suspects) > 0:
		who, verb := Names(pick(ranks, waiting)), "are"
		if len(waiting) == 1 {
			verb = "is"
		}
		_, words := ranks[waiting[0]].doing()
		return Verdict{fmt.Sprintf("%s %s %s%s; %s", who, verb, words, ranks[waiting[0]].at(), missed(ranks, suspects, "is")), suspects}
	case len(gone) > 0 && len(suspects) == 0:
		return Verdict{Sentence: strings.Join(gone[:min(len(gone), mostNamed)], "; "), Suspects: indices(ranks, left)}
	}
	return apart(ranks)
}

func indices(ranks []Rank, of activity) (list []int) {
	for i, r := range ranks {
		if a, _ := r.doing(); a == of {
			list = append(list, i)
		}
	}
	return list
}

// missing returns the ranks that do not wait for the others. Idle ranks elsewhere come first. If
// there are none, it returns the ranks that compute, because a rank computes before it fails. If
// there are none of these either, it returns the ranks that wait for a lock, which may be a wait
// for others in C code. It returns none if that would be more than half of several ranks, because
// what they do may be their work.
func missing(ranks []Rank) []int {
	var still, busy, maybe []int
	for i, r := range ranks {
		switch a, _ := r.doing(); a {
		case sleeps, reads, stuck, stopped:
			still = append(still, i)
		case computes:
			busy = append(busy, i)
		case locked:
			maybe = append(maybe, i)
		}
	}
	for _, list := range [][]int{still, busy, maybe} {
		switch {
		case len(list) == 0:
		case len(ranks) > 2 && 2*len(list) > len(ranks):
			return nil
		default:
			return list
		}
	}
	return nil
}

// missed returns text such as "rank 0 on pi-worker-0 was not waiting: sleeping at train.py:31
// load_batch. Look at rank 0 first."
func missed(ranks []Rank, suspects []int, verb string) string {
	var said []string
	for _, i := range suspects[:min(len(suspects), mostNamed)] {
		said = append(said, fmt.Sprintf("%s %s not waiting: %s", ranks[i].on(), verb, ranks[i].where()))
	}
	if more := len(suspects) - len(said); more > 0 {
		said = append(said, fmt.Sprintf("nor %s %d more", were(verb, more), more))
	}
	return strings.Join(said, "; ") + ". Look at " + ranks[suspects[0]].Name + " first."
}

func were(verb string, n int) string {
	switch {
	case n == 1:
		return verb
	case verb == "was":
		return "were"
	}
	return "are"
}

// apart names the ranks that are not at the line of the majority.
func apart(ranks []Rank) Verdict {
	lines := map[string][]int{}
	most := ""
	for i, r := range ranks {
		at := r.at()
		if a, _ := r.doing(); a == waits || a == left {
			return Verdict{} // all wait, or it is not known what the others do
		}
		lines[at] = append(lines[at], i)
		if len(lines[at]) > len(lines[most]) || len(lines[at]) == len(lines[most]) && at < most {
			most = at
		}
	}
	together := lines[most]
	if most == "" || len(together) < 2 || len(together) == len(ranks) || 2*len(together) <= len(ranks) {
		return Verdict{}
	}
	var others []int
	for i := range ranks {
		if !slices.Contains(together, i) {
			others = append(others, i)
		}
	}
	var said []string
	for _, i := range others[:min(len(others), mostNamed)] {
		said = append(said, ranks[i].on()+" differs: "+ranks[i].where())
	}
	if more := len(others) - len(said); more > 0 {
		said = append(said, fmt.Sprintf("so do %d more", more))
	}
	return Verdict{fmt.Sprintf("%s are%s; %s. Look at %s first.", Names(pick(ranks, together)), most, strings.Join(said, "; "), ranks[others[0]].Name), others}
}

func pick(ranks []Rank, which []int) (list []Rank) {
	for _, i := range which {
		list = append(list, ranks[i])
	}
	return list
}

// Patterns for the last lines of a rank that has waited for others for too long. They match the
// operations in which it waited, and the messages of libraries or of Python's sockets. A timeout that is
// set, as in timeout=1800, has not passed.
var (
	timeoutWords   = lazyregexp.New(`(?i)timed ?out|timing out|deadline exceeded|timeout(?:$|:(?:$| *[^ \d])|[^=:\w( '"]| +[^= ])`)
	operationWords = lazyregexp.New(`(?i)all_?reduce|all_?gather|all_?to_?all|reduce_?scatter|broadcast|barrier|init_process_group`)
	libraryWords   = lazyregexp.New(`(?i)gloo|nccl|collective|watchdog|tcpstore|process ?group|Dist(?:Store|Network|Backend)Error`)
	// sourceLine matches the source in a traceback, which says what was called, and not what happened.
	sourceLine  = lazyregexp.New(`^(?:\[rank\d+\]:)?\s{2}`)
	socketWords = lazyregexp.New(`^(TimeoutError|socket\.timeout): timed out$`)
)

// timedOut returns "timed out in all_reduce", or "" if the lines do not mention a wait for others.
func timedOut(tail []string) string {
	said := slices.DeleteFunc(slices.Clone(tail), func(line string) bool {
		return sourceLine().MatchString(line) || !timeoutWords().MatchString(line)
	})
	switch {
	case slices.ContainsFunc(said, libraryWords().MatchString) || slices.ContainsFunc(said, operationWords().MatchString):
		for _, line := range slices.Backward(tail) {
			if name := operationWords().FindString(line); name != "" {
				return "timed out in " + strings.ToLower(name)
			}
		}
		return "timed out while it waited for others"
	case slices.ContainsFunc(said, socketWords().MatchString):
		return "timed out"
	}
	return ""
}

var (
	// rankTag matches what mpirun puts before each line of a rank, if told to.
	rankTag = lazyregexp.New(`^\[\d[\d,:]*\](?:<std(?:out|err)>)?:? ?`)
	// exception matches the last line of a traceback.
	exception = lazyregexp.New(`^[\w.]*(?:Error|Exception|Interrupt|[Tt]imeout): `)
)

// timeouts returns the tracebacks in the lines of several ranks, if all of them are timeouts. If
// they differ, it is not known which belongs to the failed rank.
func timeouts(lines []string) (found []string) {
	var block []string
	for _, line := range lines {
		line = rankTag().ReplaceAllString(line, "")
		switch {
		case strings.HasPrefix(line, "Traceback "):
			block = []string{line}
		case !exception().MatchString(line):
			if block != nil {
				block = append(block, line)
			}
		case timedOut([]string{line}) == "":
			return nil
		default:
			found, block = append(append(found, block...), line), nil
		}
	}
	return found
}
