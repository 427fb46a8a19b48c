//go:build linux

package supervise

import (
	"cmp"
	"slices"
	"time"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/rendezvous"
)

// beginSizes notes the limits of the workers with which the command starts.
func (s *Supervisor) beginSizes(now time.Time) {
	if s.Resizes != nil {
		s.recordSizes(s.Resizes.Begin(s.started, now))
	}
}

// onSizes looks for workers that were resized in place. A resize changes nothing about how the
// command goes on.
func (s *Supervisor) onSizes(now time.Time) {
	if s.Resizes == nil || s.last.At.IsZero() || s.last.Err != nil {
		return
	}
	standings := s.links.Working()
	workers := make([]rendezvous.Worker, 0, len(standings))
	for _, st := range standings {
		workers = append(workers, st.Worker)
	}
	slices.SortFunc(workers, func(a, b rendezvous.Worker) int { // a line names the first
		return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.Name, b.Name))
	})
	s.recordSizes(s.Resizes.Look(workers, s.last, now))
	s.tellSizes(now, false)
}

func (s *Supervisor) recordSizes(news []fleet.Resize) {
	for _, n := range news {
		s.record.Worker(event.Resized, n.Worker, n.Node, n.Detail())
	}
}

// tellSizes prints the news about resizes that are due, or all if the command is over.
func (s *Supervisor) tellSizes(now time.Time, over bool) {
	if s.Resizes == nil {
		return
	}
	for _, line := range s.Resizes.Lines(now, over) {
		s.voice.Say("%s", line)
	}
}
