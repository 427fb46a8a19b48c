//go:build linux

package launch

import (
	"fmt"

	"github.com/musterhq/muster/exec/wire"
)

// reported takes a report of a worker's PID 1: the tally judges by it, and the user learns
// which process a session waits for.
func (l *links) reported(worker string, rec wire.ReportRecord) {
	if rec.Kind == wire.ReportHeld && l.voice != nil {
		label := l.tally.labelOf(rec.Session)
		if rec.Rank != "" {
			label = "rank " + rec.Rank
		}
		l.voice.Say("%s", heldLine(label, worker, rec))
	}
	if rec.Kind == wire.ReportLeaving {
		l.noteLeaving(worker, rec)
	}
	l.tally.report(worker, rec)
	l.nudge()
}

// heldLine says which process still holds the output of a command that has ended. label
// is the command's: "rank 0"; "" for one that agent rsh started.
func heldLine(label, worker string, rec wire.ReportRecord) string {
	whose := "a command"
	if label != "" {
		whose = label + "'s command"
	}
	return fmt.Sprintf("%s has ended; %s (pid %d) on %s still holds its output", whose, rec.Command, rec.PID, worker)
}

// name notes what a session runs, for labelOf.
func (t *tally) name(session, label string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.labels[session] = label
}

func (t *tally) labelOf(session string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.labels[session]
}
