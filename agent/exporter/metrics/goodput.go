package metrics

import (
	"time"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/timeline"
)

// Goodput says what the time of all workers was spent on.
type Goodput interface {
	// Take takes the next event.
	Take(e event.Event)
	// Spent returns the time of each class until now.
	Spent(now time.Time) map[string]time.Duration
}

// Classes of time.
const (
	classProductive = "productive"
	classStarting   = "starting"
	classGone       = "gone"
	classUnknown    = "unknown"
)

// classes lists the values of the label class.
func classes() []string {
	return []string{"queued", "pulling", classStarting, "checking", classProductive, "stalled", "saving", "lost", "restarting", "spare", "ending", classGone, classUnknown}
}

// isCounted reports whether the ratio counts a class.
func isCounted(class string) bool { return class != classGone && class != classUnknown }

// byPhase is the Goodput that phases alone tell: an attempt that runs is productive.
type byPhase struct{ live *timeline.Tracker }

// Take implements Goodput. The owner of live gives it the events.
func (byPhase) Take(event.Event) {}

// Spent implements Goodput.
func (b byPhase) Spent(now time.Time) map[string]time.Duration {
	spent := map[string]time.Duration{}
	for phase, took := range b.live.Spent(now) {
		spent[classOf(phase)] += took
	}
	return spent
}

// classOf returns the class of a phase.
func classOf(p timeline.Phase) string {
	switch p {
	case timeline.Running:
		return classProductive
	case timeline.Linking, timeline.Waiting:
		return classStarting
	case timeline.Lost:
		return classGone
	}
	return string(p)
}

// ratio returns the productive share of the time that counts. It returns false if none does.
func ratio(seconds map[string]float64) (share float64, ok bool) {
	all := 0.0
	for class, s := range seconds {
		if isCounted(class) {
			all += s
		}
	}
	if all <= 0 {
		return 0, false
	}
	return seconds[classProductive] / all, true
}
