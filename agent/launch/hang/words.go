package hang

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/agent/launch/phrase"
)

// Bounds of a report, because a job may have thousands of ranks.
const (
	mostPlaces = 12 // number of places listed
	mostNamed  = 8  // number of ranks listed for one place
)

// Sitter is a process with its name for the report.
type Sitter struct {
	Who    string // "rank 1", or the command's name
	rank   int    // sort key; -1: none
	Worker string // "": the launcher
	more   int    // number of other processes of the same rank
	Actor  actor
}

// Sitters picks one process for each rank: the oldest that does not only wait for its own child.
// Without ranks it returns all processes.
func Sitters(scenes map[string]Scene, label func(session string) string) (list []Sitter) {
	type owner struct{ worker, session, rank string }
	found := map[owner]int{}
	remote := 0
	for worker, s := range scenes {
		parents := map[int]bool{}
		for _, a := range s.actors {
			parents[a.Process.Parent] = parents[a.Process.Parent] || a.rests
		}
		for _, a := range s.actors {
			waits := parents[a.Process.PID] && (a.Process.Call == "wait4" || a.Process.Call == "waitid")
			if !a.rests || waits {
				continue
			}
			one := Sitter{Who: whoIs(a, label), rank: -1, Worker: worker, Actor: a}
			if n, err := strconv.Atoi(a.Process.Rank); err == nil {
				one.rank = n
			}
			if worker != "" {
				remote++
			}
			key := owner{worker, a.Session, one.Who}
			at, there := found[key]
			switch {
			case !there:
				found[key] = len(list)
				list = append(list, one)
			case a.Process.Start < list[at].Actor.Process.Start:
				one.more = list[at].more + 1
				list[at] = one
			default:
				list[at].more++
			}
		}
	}
	if remote > 0 { // otherwise the launch itself hangs
		list = slices.DeleteFunc(list, func(s Sitter) bool { return s.Worker == "" })
	}
	slices.SortFunc(list, func(a, b Sitter) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.Worker, b.Worker), cmp.Compare(a.Who, b.Who))
	})
	return list
}

func whoIs(a actor, label func(string) string) string {
	if a.Process.Rank != "" {
		return "rank " + a.Process.Rank
	}
	return cmp.Or(label(a.Session), a.Process.Command)
}

// Places groups processes that sit in the same call. The smallest group comes first, because the
// others probably wait for it.
func Places(list []Sitter) [][]Sitter {
	index := map[string]int{}
	var groups [][]Sitter
	for _, s := range list {
		key := s.Actor.Process.Command + "\x00" + sits(s.Actor)
		at, there := index[key]
		if !there {
			at = len(groups)
			index[key] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], s)
	}
	slices.SortStableFunc(groups, func(a, b []Sitter) int { return len(a) - len(b) })
	return groups
}

// sits says in which state and call a process is.
func sits(a actor) string {
	p := a.Process
	state := map[string]string{"S": "sleeps", "D": "is in uninterruptible sleep", "I": "sleeps", "R": "runs", "T": "is stopped, as by SIGSTOP"}[p.State]
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
func (s Sitter) where() string {
	text := s.Who + " on " + s.Worker
	if s.Worker == "" {
		text = s.Who + " in the launcher"
	}
	text += fmt.Sprintf(" (%s, pid %d", s.Actor.Process.Command, s.Actor.Process.PID)
	if s.more > 0 {
		text += fmt.Sprintf(", and %s of it", phrase.Count(s.more, "more process"))
	}
	return text + ")" + s.peer()
}

// peer says which socket a process waits for, if it is known.
func (s Sitter) peer() string {
	p := s.Actor.Process
	switch {
	case p.Peer == "":
		return ""
	case p.PeerUnheard:
		return " waiting for " + p.Peer + ", where no process listens"
	case p.PeerClosed:
		return " waiting for " + p.Peer + " which has closed the connection"
	}
	return " waiting for " + p.Peer
}

// Lines returns the report, one line for each call in which a process sits.
func Lines(list []Sitter) (lines []string) {
	groups := Places(list)
	for i, group := range groups {
		if i == mostPlaces {
			lines = append(lines, fmt.Sprintf("and %s where other ranks are", phrase.Count(len(groups)-i, "more place")))
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
		lines = append(lines, text+": "+sits(group[0].Actor))
	}
	return lines
}

// StackOf returns a command that prints the stacks of a process, to run in its container.
func StackOf(s Sitter) string {
	pid := s.Actor.Process.PID
	if strings.HasPrefix(s.Actor.Process.Command, "python") || strings.HasPrefix(s.Actor.Process.Command, "pt_main_thread") {
		return fmt.Sprintf("py-spy dump --pid %d", pid)
	}
	return fmt.Sprintf("gdb -p %d -batch -ex 'thread apply all bt'", pid)
}

// Unasked names one of the workers that could not be asked, and counts the others.
func Unasked(unknown map[string]error) string {
	name := slices.Min(slices.Collect(maps.Keys(unknown)))
	text := name + ": " + phrase.OneLine(unknown[name])
	if more := len(unknown) - 1; more > 0 {
		text += fmt.Sprintf(" (and %s)", phrase.Count(more, "more worker"))
	}
	return text
}
