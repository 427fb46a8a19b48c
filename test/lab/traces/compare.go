package main

import (
	"fmt"
	"time"

	"github.com/musterhq/muster/agent/timeline"
)

// compare returns an error if the spans are not those of a timeline: each attempt, and each phase of each
// worker with its length. All are in the caller's trace, and each is below a span that has arrived.
func compare(got []arrived, line *timeline.Timeline) error {
	spent, byID, attempts := map[string]time.Duration{}, map[string]arrived{}, 0
	for _, s := range got {
		byID[s.SpanID] = s
		if w := s.attr("muster.worker.name"); w != "" {
			spent[w+" "+s.Name] += s.took()
		}
		if s.Name == "attempt" {
			attempts++
		}
	}
	for _, s := range got {
		if s.TraceID != callerTrace {
			return fmt.Errorf("span %s is in trace %s", s.Name, s.TraceID)
		}
		if _, ok := byID[s.ParentSpanID]; !ok && (s.Name != "run" || s.ParentSpanID != callerSpan) {
			return fmt.Errorf("span %s has the parent %s, which has not arrived", s.Name, s.ParentSpanID)
		}
		if parent := byID[s.ParentSpanID].Name; s.Name == "running" && parent != "attempt" {
			return fmt.Errorf("a running worker is below %q", parent)
		}
	}
	want := 0
	for i := range line.Workers {
		w := &line.Workers[i]
		for phase, took := range w.Spent() {
			if phase == timeline.Unknown {
				continue
			}
			want++
			if d := spent[w.Name+" "+string(phase)]; d != took {
				return fmt.Errorf("%s was %s for %s, and its spans take %s", w.Name, phase, took, d)
			}
		}
	}
	if want != len(spent) {
		return fmt.Errorf("spans of %d phases arrived, and the timeline has %d", len(spent), want)
	}
	if attempts != len(line.Attempts) {
		return fmt.Errorf("%d attempts arrived, and the timeline has %d", attempts, len(line.Attempts))
	}
	return nil
}

// print prints the spans below one, and their events.
func print(got []arrived, parent, indent string) {
	for _, s := range got {
		if s.ParentSpanID != parent {
			continue
		}
		fmt.Printf("%s%s %s %s %s\n", indent, s.Name, s.attr("muster.worker.name"), s.took().Round(time.Microsecond), s.Status.Message)
		for _, e := range s.Events {
			fmt.Printf("%s  * %s\n", indent, e.Name)
		}
		print(got, s.SpanID, indent+"  ")
	}
}
