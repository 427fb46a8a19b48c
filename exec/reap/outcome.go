//go:build linux

package reap

import (
	"cmp"
	"slices"
	"time"
)

// Outcome is how a rank ended that a Drain asked to end.
type Outcome struct {
	PID    int
	Rank   string        // number of the rank; "" if it has none
	After  time.Duration // from the first signal to its end, as seen by scans
	Killed bool          // it got KILL at the end of the grace
	ended  bool
}

// Ended reports whether a scan has found that the rank had ended.
func (o Outcome) Ended() bool { return o.ended }

// watched are the ranks of a stop.
type watched struct {
	began time.Time
	at    map[identity]int // index in all
	all   []Outcome
	tell  func([]Outcome) // called with a copy of all after each change; nil: not called
}

func (w *watched) changed() {
	if w.tell != nil {
		w.tell(slices.Clone(w.all))
	}
}

// Apart returns the ranks that no other rank has started: a script and the command in its
// foreground count as one.
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

// kill records whether a process was sent KILL.
func (w *watched) kill(id identity, killed bool) {
	if i, ok := w.at[id]; ok && w.all[i].Killed != killed && !w.all[i].ended {
		w.all[i].Killed, w.all[i].After = killed, time.Since(w.began)
		w.changed()
	}
}

// note records which ranks are no longer alive.
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

// Rank returns the number in the job, else the number on the machine.
func (n Numbers) Rank() string {
	const local = 1
	job := n
	job[local] = ""
	return cmp.Or(append(job[:], n[local])...)
}
