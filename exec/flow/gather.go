package flow

import "time"

const (
	// gatherSize is how many unsent bytes are sent at once, without waiting for more.
	gatherSize = 4 << 10
	// longestGather limits the wait that a launcher may ask for, because people read these lines.
	longestGather = time.Second
)

// gather holds back small output for a while after the last piece, so that the lines of a thousand
// ranks need fewer writes everywhere on their way. Output after a pause is sent at once, and so is
// the end of the stream. gather is guarded by the lock of its Out.
type gather struct {
	every   time.Duration // 0: hold nothing back
	last    time.Time     // when the last piece was sent
	hurried bool          // send held-back output now
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

// Gather makes output of less than 4 KiB wait for more, until every (at most 1 s) has passed since
// the last piece. It must be called before the first Write.
func (o *Out) Gather(every time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.gather.every = max(0, min(every, longestGather))
}

// Hurry sends held-back output, and waits at most 50 ms until it has been sent, so that later
// output of another stream follows it. Hurry reports whether any output was held back.
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

// held returns how much longer unsent bytes must wait. The caller holds the lock.
func (o *Out) held() time.Duration {
	unsent := o.spool.end - o.sent
	if o.gather.every == 0 || o.gather.hurried || o.ended || unsent == 0 || unsent >= gatherSize {
		return 0
	}
	return max(0, o.gather.every-time.Since(o.gather.last))
}

// offer calls ready, now or when the unsent bytes have waited long enough. The caller holds the
// lock.
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

// waited offers the unsent bytes again: a piece may have been sent since the timer was set.
func (o *Out) waited() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.gather.armed = false
	if !o.closed {
		o.offer()
	}
}
