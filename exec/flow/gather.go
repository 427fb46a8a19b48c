package flow

import "time"

const (
	// gatherSize is what goes out at once, however soon after the last piece.
	gatherSize = 4 << 10
	// longestGather bounds what a far side may ask for: people read these lines.
	longestGather = time.Second
)

// gather holds little output back for a while after the last piece, so that a
// thousand ranks' lines are fewer writes for everybody on the way. What comes after a
// pause goes at once, and so does the end. It is guarded by its Out's lock.
type gather struct {
	every   time.Duration // 0: nothing is held
	last    time.Time     // of the last piece
	hurried bool          // what is there goes now
	timer   *time.Timer
	armed   bool
}

func (g *gather) sent() {
	if g.every > 0 {
		g.last, g.hurried = time.Now(), false
	}
}

func (g *gather) stop() {
	if g.timer != nil {
		g.timer.Stop()
	}
}

// Gather has output of less than 4 KiB wait for more until so long after the last
// piece, at most a second. It is called before anything is written.
func (o *Out) Gather(every time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.gather.every = max(0, min(every, longestGather))
}

// Hurry lets go of what is held back, and waits until it has been sent, 50 ms at most:
// something that was written later, to another stream, is to come after it. It reports
// whether there was any.
func (o *Out) Hurry() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || o.held() == 0 {
		return false
	}
	o.gather.hurried = true
	o.ready()
	end := o.spool.end
	await(&o.room, longestBehind, func() bool { return o.closed || o.sent >= end })
	return true
}

// held is for how long what is unsent waits. Called with the lock held.
func (o *Out) held() time.Duration {
	unsent := o.spool.end - o.sent
	if o.gather.every == 0 || o.gather.hurried || o.ended || unsent == 0 || unsent >= gatherSize {
		return 0
	}
	return max(0, o.gather.every-time.Since(o.gather.last))
}

// offer tells the sender of what was written, now or when it has waited. Called with
// the lock held.
func (o *Out) offer() {
	left := o.held()
	switch {
	case left == 0:
		o.ready()
	case o.gather.armed:
	case o.gather.timer == nil:
		o.gather.armed, o.gather.timer = true, time.AfterFunc(left, o.waited)
	default:
		o.gather.armed = true
		o.gather.timer.Reset(left)
	}
}

// waited offers what is there again: a piece may have gone out since the timer was set.
func (o *Out) waited() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.gather.armed = false
	if !o.closed {
		o.offer()
	}
}
