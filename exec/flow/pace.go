package flow

import "time"

const (
	// paceSize is how many bytes are acknowledged at once: a third of what may be
	// under way on a stream.
	paceSize = 256 << 10
	// paceTime is how long fewer bytes wait for more after the last acknowledgements.
	paceTime = 10 * time.Millisecond
	// Less than a smallPiece waits for smallTime: a rank that prints a few lines a second
	// then costs everybody on the way half as much, and one that says one line and ends
	// needs no acknowledgement before the last. No writer waits for room meanwhile: each
	// spool's floor is more than a smallPiece.
	smallPiece = 16 << 10
	smallTime  = time.Second
)

// Pace holds a connection's acknowledgements back while many would go out. Through
// an API server each wakes eight processes, which costs as much as moving 10 KiB
// the other way. It is not safe for concurrent use.
type Pace struct {
	again func()
	last  time.Time // of acknowledgements
	small time.Time // since when less than a smallPiece waits; zero: none does
	timer *time.Timer
}

// NewPace returns a Pace that calls again, from a goroutine of its own, when
// acknowledgements that it has held back are due.
func NewPace(again func()) *Pace { return &Pace{again: again} }

// Due reports whether acknowledgements of so many bytes go out now: at the end of a
// stream, for a good part of a window, or when they have waited.
func (p *Pace) Due(bytes uint64, end bool) bool {
	if bytes == 0 {
		return false
	}
	now := time.Now()
	if p.small.IsZero() {
		p.small = now
	}
	due := p.small.Add(smallTime)
	if bytes >= smallPiece {
		due = p.last.Add(paceTime)
	}
	if left := due.Sub(now); left > 0 && bytes < paceSize && !end {
		p.wait(left)
		return false
	}
	p.last, p.small = now, time.Time{}
	return true
}

func (p *Pace) wait(left time.Duration) {
	if p.timer == nil {
		p.timer = time.AfterFunc(left, p.again)
		return
	}
	p.timer.Reset(left)
}

// Stop ends it; again may be under way still.
func (p *Pace) Stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
}
