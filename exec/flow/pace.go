package flow

import "time"

const (
	// paceSize is how many bytes are acknowledged at once: a third of a stream's window.
	paceSize = 256 << 10
	// paceTime is how long fewer bytes wait for more after the last acknowledgements.
	paceTime = 10 * time.Millisecond
	// Less than smallPiece bytes wait for smallTime. A rank that prints a few lines a second then
	// costs half as much everywhere on the way. A rank that prints one line and ends needs no
	// acknowledgement before the last one. No writer has to wait for room because of this: each
	// spool's floor is larger than smallPiece.
	smallPiece = 16 << 10
	smallTime  = time.Second
)

// Pace delays the acknowledgements of a connection while there would be many. Through an API
// server, each one wakes eight processes, which costs as much as moving 10 KiB the other way. Pace
// is not safe for concurrent use.
type Pace struct {
	again func()
	last  time.Time // when acknowledgements were last sent
	small time.Time // since when less than smallPiece bytes wait; zero: none do
	timer *time.Timer
}

// NewPace returns a Pace that calls again, from its own goroutine, when delayed acknowledgements
// are due.
func NewPace(again func()) *Pace { return &Pace{again: again} }

// Due reports whether acknowledgements for this number of bytes must be sent now: at the end of a
// stream, for paceSize bytes, or when they have waited long enough.
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

// Stop ends the Pace. A call of again may still be running.
func (p *Pace) Stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
}
