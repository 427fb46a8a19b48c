package traces

import (
	"cmp"
	"slices"

	"github.com/musterhq/muster/agent/timeline"
)

const (
	// mostShown is the number of workers that have a span for each phase: the first ones to come.
	mostShown = 100
	// mostSlow is the number of spans that the other workers have for each phase in an attempt, or
	// before it: the longest. Phases that all workers share have none.
	mostSlow = 10
)

// crowd decides which workers have spans of their own. The zero value is ready.
type crowd struct {
	shown  map[string]*marks // events since the last phase of each worker
	hidden map[string]bool
	slow   map[timeline.Phase][]timeline.Ended // the longest spans of the hidden ones, the longest first
}

// of returns the events of a worker that has spans for each phase, or nil.
func (c *crowd) of(worker string) *marks {
	if m := c.shown[worker]; m != nil || c.hidden[worker] {
		return m
	}
	if len(c.shown) < mostShown {
		if c.shown == nil {
			c.shown = map[string]*marks{}
		}
		c.shown[worker] = &marks{}
		return c.shown[worker]
	}
	if c.hidden == nil {
		c.hidden = map[string]bool{}
	}
	c.hidden[worker] = true
	return nil
}

// shows reports whether to send the span of a phase now, and with which events. Otherwise it keeps the
// span if it may be one of the longest.
func (c *crowd) shows(one timeline.Ended) (marks, bool) {
	if m := c.of(one.Worker); m != nil {
		return m.cut(one.To), true
	}
	if one.Phase.Shared() {
		return marks{}, false
	}
	if c.slow == nil {
		c.slow = map[timeline.Phase][]timeline.Ended{}
	}
	longest := append(c.slow[one.Phase], one)
	slices.SortStableFunc(longest, func(a, b timeline.Ended) int { return cmp.Compare(b.Took(), a.Took()) })
	c.slow[one.Phase] = longest[:min(len(longest), mostSlow)]
	return marks{}, false
}

// slowest returns what was kept, and forgets it.
func (c *crowd) slowest() (all []timeline.Ended) {
	for _, a := range timeline.Table() {
		all = append(all, c.slow[a.Phase]...)
	}
	c.slow = nil
	return all
}
