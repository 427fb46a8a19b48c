package link

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/musterhq/muster/exec/wire"
)

// farewell is the END of the link's job. It is sent on each new connection until the worker has
// confirmed it.
type farewell struct {
	stage     stage
	record    *wire.EndRecord // what is sent; nil: nothing
	confirmed chan struct{}   // closed when the worker has confirmed
}

// stage is the progress of a farewell: unsaid -> said -> gone, or said -> kept -> said.
type stage uint8

const (
	unsaid stage = iota // the job goes on
	said                // the worker has not confirmed yet
	kept                // the worker has confirmed, and takes new sessions
	gone                // the worker has confirmed, and has exited
)

// say begins the farewell, or changes it. The channel is closed when the worker confirms.
func (f *farewell) say(rec wire.EndRecord) <-chan struct{} {
	f.record = &rec
	if f.stage == kept {
		f.confirmed = make(chan struct{})
	}
	if f.stage != gone {
		f.stage = said
	}
	return f.confirmed
}

// confirm handles the worker's ENDED, and reports whether the worker exits.
func (f *farewell) confirm() bool {
	select {
	case <-f.confirmed:
	default:
		close(f.confirmed)
	}
	if f.stage == said && f.record.Keep {
		f.record, f.stage = nil, kept // sent once: a redial must not end the next sessions
		return false
	}
	f.stage = gone
	return true
}

// End tells the worker that the job is over. The worker stops everything, with TERM and, after
// grace, KILL. Its PID 1 exits 0 unless keep is set. End returns nil when the worker has confirmed,
// or when it is lost and there is nothing left to stop. It returns an error when ctx ends. Run must
// be running.
func (l *Link) End(ctx context.Context, keep bool, grace time.Duration) error {
	return l.end(ctx, wire.EndRecord{Keep: keep, GraceMillis: grace.Milliseconds()})
}

// ErrNotReplaced says that the worker's agent is too old to be replaced.
var ErrNotReplaced = errors.New("the agent of the worker is too old to be replaced")

// Replace is End for a worker whose place another one shall take: PID 1 exits with
// names.ExitReplaced. why is the reason, such as names.WhyPreflight, or "". The error is
// ErrNotReplaced, or that of End. The worker has been heard from.
func (l *Link) Replace(ctx context.Context, why string, grace time.Duration) error {
	if w, known := l.Welcome(); known && !w.Replaces {
		return ErrNotReplaced
	}
	return l.end(ctx, wire.EndRecord{Replace: true, Why: why, GraceMillis: grace.Milliseconds()})
}

func (l *Link) end(ctx context.Context, rec wire.EndRecord) error {
	l.mu.Lock()
	confirmed := l.farewell.say(rec)
	if c := l.current.get(); c != nil {
		c.record(wire.End, 0, rec)
	}
	l.mu.Unlock()
	l.rouse()
	select {
	case <-confirmed:
		return nil
	case <-l.fate.over:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("end the job on %s: %w", l.cfg.Worker, context.Cause(ctx))
	}
}

func (l *Link) hasEnded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.farewell.stage == gone
}
