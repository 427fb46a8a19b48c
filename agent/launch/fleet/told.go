//go:build linux

package fleet

import (
	"fmt"
	"time"

	"github.com/musterhq/muster/exec/wire"
)

// GoingDown is a worker that was told to stop from outside. It runs daemons of an mpirun, or ranks
// of a group, or of horovodrun or another launcher. All ranks end when one is lost, so all are
// asked to save.
type GoingDown struct {
	Worker string
	Until  time.Time // when the worker kills what still lives
}

// noteLeaving records that a worker is going down, for TakeLeaving.
func (l *Links) noteLeaving(worker string, rec wire.ReportRecord) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.leaving == nil {
		l.leaving = &GoingDown{worker, time.Now().Add(time.Duration(rec.GraceMillis-rec.AgoMillis) * time.Millisecond)}
	}
}

// TakeLeaving returns the worker that has reported its stop since the last call, or nil.
func (l *Links) TakeLeaving() *GoingDown {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.leaving
	l.leaving = nil
	return one
}

// reported handles a report of a worker's PID 1. The tally uses it for the verdict, and the user
// learns which process a session waits for.
func (l *Links) reported(worker string, rec wire.ReportRecord) {
	if rec.Kind == wire.ReportHeld && l.Voice != nil {
		label := l.account.LabelOf(rec.Session)
		if rec.Rank != "" {
			label = "rank " + rec.Rank
		}
		l.Voice.Say("%s", heldLine(label, worker, rec))
	}
	if rec.Kind == wire.ReportLeaving {
		l.noteLeaving(worker, rec)
	}
	l.recordEnd(worker, rec)
	l.account.Report(worker, rec)
	l.Nudge()
}

// heldLine says which process still holds the output of a command that has ended. label is the
// command's, such as "rank 0"; it is "" for a command that agent rsh started.
func heldLine(label, worker string, rec wire.ReportRecord) string {
	whose := "a command"
	if label != "" {
		whose = label + "'s command"
	}
	return fmt.Sprintf("%s has ended; %s (pid %d) on %s still holds its output", whose, rec.Command, rec.PID, worker)
}

// Departure is the cause of a lost worker that was told to stop from outside.
type Departure struct{ error }
