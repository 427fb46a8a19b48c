//go:build linux

package reap

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Outcome is how a rank ended that a Drain asked to end.
type Outcome struct {
	PID    int
	Rank   string        // its number; "": it has none
	After  time.Duration // from the first signal to its end, as scans saw it
	Killed bool          // it got KILL when the grace was over
	ended  bool
}

// Ended reports whether a scan has found that it had ended.
func (o Outcome) Ended() bool { return o.ended }

// watched are the ranks of a stop.
type watched struct {
	began time.Time
	at    map[identity]int // index in all
	all   []Outcome
	tell  func([]Outcome) // gets a copy of all when one has changed; nil: nobody
}

func (w *watched) changed() {
	if w.tell != nil {
		w.tell(slices.Clone(w.all))
	}
}

// Apart returns those of ranks that no other one has started: a script and the command in
// its foreground are one.
func Apart(ranks []Proc) []Proc {
	return slices.DeleteFunc(slices.Clone(ranks), func(p Proc) bool {
		return slices.ContainsFunc(ranks, func(o Proc) bool { return o.PID == p.PPID })
	})
}

func (w *watched) watch(ranks []Proc) {
	w.began, w.at = time.Now(), map[identity]int{}
	for _, p := range Apart(ranks) {
		w.at[p.identity()] = len(w.all)
		w.all = append(w.all, Outcome{PID: p.PID, Rank: p.Numbers.Rank()})
	}
	w.changed()
}

// kill takes down whether a process is sent KILL.
func (w *watched) kill(id identity, killed bool) {
	if i, ok := w.at[id]; ok && w.all[i].Killed != killed && !w.all[i].ended {
		w.all[i].Killed, w.all[i].After = killed, time.Since(w.began)
		w.changed()
	}
}

// note takes down who is not among the living any more.
func (w *watched) note(alive []Proc) {
	if len(w.at) == 0 {
		return
	}
	living := make(map[identity]bool, len(alive))
	for _, p := range alive {
		living[p.identity()] = true
	}
	changed := false
	for id, i := range w.at {
		if one := &w.all[i]; !living[id] && !one.ended {
			one.ended, one.After, changed = true, time.Since(w.began), true
		}
	}
	if changed {
		w.changed()
	}
}

// Rank returns the number in the job, else the one on the machine.
func (n Numbers) Rank() string {
	const local = 1
	job := n
	job[local] = ""
	return cmp.Or(append(job[:], n[local])...)
}

// Stopping says that whom, as in "4 ranks", is asked to end.
func Stopping(whom string, grace time.Duration) string {
	return fmt.Sprintf("stopping %s, up to %s for saving", whom, short(grace))
}

// Ended is one process of a stop, for Stopped.
type Ended struct {
	Name   string // as in "rank 2 on pi-worker-1"
	After  time.Duration
	Killed bool
	// Unknown: nobody has told how it ended.
	Unknown bool
}

// Stopped says how processes that were asked to end have done so.
func Stopped(all []Ended, what string) string {
	var killed, unknown []string
	var longest time.Duration
	for _, e := range all {
		switch {
		case e.Killed:
			killed = append(killed, e.Name)
		case e.Unknown:
			unknown = append(unknown, e.Name)
		default:
			longest = max(longest, e.After)
		}
	}
	var rest []string
	if n := len(killed); n > 0 {
		rest = append(rest, few(killed)+map[bool]string{true: " was killed", false: " were killed"}[n == 1])
	}
	if len(unknown) > 0 {
		rest = append(rest, "how "+few(unknown)+" ended is not known")
	}
	gone, ended := strings.Join(rest, "; "), len(all)-len(killed)-len(unknown)
	switch {
	case ended == 0:
		return gone
	case gone == "" && len(all) == 1:
		return fmt.Sprintf("%s ended by itself after %s", cmp.Or(all[0].Name, "the "+what), short(longest))
	case gone == "":
		return fmt.Sprintf("%s ended by themselves after %s", Count(len(all), what), short(longest))
	}
	return fmt.Sprintf("%d of %d ended by themselves after %s; %s", ended, len(all), short(longest), gone)
}

// few joins three names at most, and counts the others.
func few(names []string) string {
	const most = 3
	text := strings.Join(names[:min(len(names), most)], ", ")
	if n := len(names); n > most {
		text += fmt.Sprintf(" and %d more", n-most)
	}
	return text
}

// Count writes 1 rank, 2 ranks, 2 processes.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if strings.HasSuffix(what, "s") {
		return fmt.Sprintf("%d %ses", n, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// short writes 0.3 s, and 12 s from ten on.
func short(d time.Duration) string {
	if d >= 10*time.Second {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return strings.Replace(fmt.Sprintf("%.1f s", d.Seconds()), ".0 s", " s", 1)
}
