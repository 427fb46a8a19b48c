package launch

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/agent/launch/phrase"
)

// Bounds of a report: a job may have thousands of ranks.
const (
	mostPlaces = 12 // in which ranks sit
	mostNamed  = 8  // of those that sit in one
)

// sitter is a process as the report names it.
type sitter struct {
	who    string // "rank 1", or the command's name
	rank   int    // for the order; -1: none
	worker string // "": the launcher
	more   int    // processes of the same rank
	actor  actor
}

// sitters picks one process for each rank: the oldest that does not merely wait
// for a child of its own. Without ranks they are all processes there are.
func sitters(scenes map[string]scene, label func(session string) string) (list []sitter) {
	type owner struct{ worker, session, rank string }
	found := map[owner]int{}
	remote := 0
	for worker, s := range scenes {
		parents := map[int]bool{}
		for _, a := range s.actors {
			parents[a.process.Parent] = parents[a.process.Parent] || a.rests
		}
		for _, a := range s.actors {
			waits := parents[a.process.PID] && (a.process.Call == "wait4" || a.process.Call == "waitid")
			if !a.rests || waits {
				continue
			}
			one := sitter{who: whoIs(a, label), rank: -1, worker: worker, actor: a}
			if n, err := strconv.Atoi(a.process.Rank); err == nil {
				one.rank = n
			}
			if worker != "" {
				remote++
			}
			key := owner{worker, a.session, one.who}
			at, there := found[key]
			switch {
			case !there:
				found[key] = len(list)
				list = append(list, one)
			case a.process.Start < list[at].actor.process.Start:
				one.more = list[at].more + 1
				list[at] = one
			default:
				list[at].more++
			}
		}
	}
	if remote > 0 { // else it is the launch itself that hangs
		list = slices.DeleteFunc(list, func(s sitter) bool { return s.worker == "" })
	}
	slices.SortFunc(list, func(a, b sitter) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.worker, b.worker), cmp.Compare(a.who, b.who))
	})
	return list
}

func whoIs(a actor, label func(string) string) string {
	if a.process.Rank != "" {
		return "rank " + a.process.Rank
	}
	return cmp.Or(label(a.session), a.process.Command)
}

// places puts together those that sit in the same call; the fewest first, as
// they are likelier what the others wait for.
func places(list []sitter) [][]sitter {
	index := map[string]int{}
	var groups [][]sitter
	for _, s := range list {
		key := s.actor.process.Command + "\x00" + sits(s.actor)
		at, there := index[key]
		if !there {
			at = len(groups)
			index[key] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], s)
	}
	slices.SortStableFunc(groups, func(a, b []sitter) int { return len(a) - len(b) })
	return groups
}

// sits says where a process is.
func sits(a actor) string {
	p := a.process
	state := map[string]string{"S": "sleeps", "D": "sleeps and cannot be woken", "I": "sleeps", "R": "runs", "T": "is stopped, as by SIGSTOP"}[p.State]
	if state == "" {
		state = "is in state " + p.State
	}
	switch {
	case p.Refused:
		state += ", and its system call is not shown: not permitted"
	case p.Call != "":
		state += " in " + p.Call
	default:
		state += " in no system call"
	}
	if p.Waiting != "" {
		state += " (kernel: " + p.Waiting + ")"
	}
	return state
}

// where names a process and its place.
func (s sitter) where() string {
	text := s.who + " on " + s.worker
	if s.worker == "" {
		text = s.who + " in the launcher"
	}
	text += fmt.Sprintf(" (%s, pid %d", s.actor.process.Command, s.actor.process.PID)
	if s.more > 0 {
		text += fmt.Sprintf(", and %s of it", phrase.Count(s.more, "more process"))
	}
	return text + ")" + s.peer()
}

// peer says which socket a process waits for, as far as that is known.
func (s sitter) peer() string {
	p := s.actor.process
	switch {
	case p.Peer == "":
		return ""
	case p.PeerUnheard:
		return " waiting for " + p.Peer + " where nobody listens"
	case p.PeerClosed:
		return " waiting for " + p.Peer + " which has closed the connection"
	}
	return " waiting for " + p.Peer
}

// hangLines is the report, one line for each call that somebody sits in.
func hangLines(list []sitter) (lines []string) {
	groups := places(list)
	for i, group := range groups {
		if i == mostPlaces {
			lines = append(lines, fmt.Sprintf("and %s in which others sit", phrase.Count(len(groups)-i, "more place")))
			break
		}
		var named []string
		for _, s := range group[:min(len(group), mostNamed)] {
			named = append(named, s.where())
		}
		text := strings.Join(named, ", ")
		if more := len(group) - len(named); more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		lines = append(lines, text+": "+sits(group[0].actor))
	}
	return lines
}

// stackOf is a command that prints the stacks of a process, for its container.
func stackOf(s sitter) string {
	pid := s.actor.process.PID
	if strings.HasPrefix(s.actor.process.Command, "python") || strings.HasPrefix(s.actor.process.Command, "pt_main_thread") {
		return fmt.Sprintf("py-spy dump --pid %d", pid)
	}
	return fmt.Sprintf("gdb -p %d -batch -ex 'thread apply all bt'", pid)
}
