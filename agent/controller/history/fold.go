package history

import (
	"encoding/json"
	"slices"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/event"
)

// The limits of a record.
const (
	mostEvents = 32
	mostBytes  = 2 << 10 // as JSON
)

// fold makes the record short: it leaves out the oldest attempts, and then the oldest events of the last one.
func (r *record) fold() {
	for len(r.line) > 1 && r.isLong() {
		first, last := r.line[0], r.line[len(r.line)-1]
		if same(first, last) {
			r.line = r.line[1:]
			continue
		}
		ran := false
		r.line = slices.DeleteFunc(r.line, func(e v1alpha1.TimelineEvent) bool {
			if !same(e, first) {
				return false
			}
			switch event.Kind(e.Kind) {
			case event.CommandStarted, event.AttemptEnded, event.RunEnded:
				ran = true
			}
			return true
		})
		if ran {
			r.left++
		}
	}
}

// isLong reports whether the record exceeds a limit.
func (r *record) isLong() bool {
	if len(r.line) > mostEvents {
		return true
	}
	text, err := json.Marshal(v1alpha1.Timeline{Events: r.line, OmittedAttempts: r.left})
	return err != nil || len(text) > mostBytes
}

// same reports whether two events belong to the same attempt.
func same(a, b v1alpha1.TimelineEvent) bool { return a.Attempt == b.Attempt && a.Restart == b.Restart }
