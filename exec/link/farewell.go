package link

import (
	"context"
	"fmt"
	"time"

	"github.com/musterhq/muster/exec/wire"
)

// farewell is the END of the link's job. It is said again on each connection until the
// worker has confirmed it.
type farewell struct {
	stage     stage
	record    *wire.EndRecord // what is said; nil: nothing
	confirmed chan struct{}   // closed when the worker has confirmed
}

// stage is how far a farewell is: unsaid -> said -> gone, or said -> kept -> said.
type stage uint8

const (
	unsaid stage = iota // the job goes on
	said                // the worker has yet to confirm
	kept                // it has, and takes new sessions
	gone                // it has, and has exited
)

// say begins the farewell, or changes it. The channel is closed when it is confirmed.
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

// confirm takes the worker's ENDED, and reports whether the worker exits.
func (f *farewell) confirm() bool {
	select {
	case <-f.confirmed:
	default:
		close(f.confirmed)
	}
	if f.stage == said && f.record.Keep {
		f.record, f.stage = nil, kept // said once: a redial must not end what comes next
		return false
	}
	f.stage = gone
	return true
}

// End tells the worker that the job is over: it stops everything, within grace
// by TERM and then by KILL, and PID 1 exits 0 unless keep is set. It returns
// when the worker has confirmed, when it is lost (nil: nothing of it is left
// that could be told), or ctx's error. Run must be running.
func (l *Link) End(ctx context.Context, keep bool, grace time.Duration) error {
	rec := wire.EndRecord{Keep: keep, GraceMillis: grace.Milliseconds()}
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
