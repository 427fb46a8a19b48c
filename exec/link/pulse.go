package link

import (
	"sync/atomic"
	"time"
)

// lookTwice is the part of DeadAfter after which a dead connection is looked at again: what came while
// this process was not scheduled is read meanwhile.
const lookTwice = 12

// pulse is what a connection knows of its worker's signs of life. A worker is not blamed for what the
// launcher delays: bytes that nobody has read yet, and a PING that waits to be written.
//
// Times are durations since the connection was made, by the monotonic clock. A step of the wall clock must
// not make a live connection look dead, nor a dead one alive.
type pulse struct {
	waits   atomic.Int64 // when the reader began to wait for bytes; 0: it handles those that came
	heard   atomic.Int64 // when the last byte came
	asked   atomic.Int64 // when the first PING after that byte was written
	writes  atomic.Int64 // when the current write began; 0: there is none
	written atomic.Int64 // when the last write ended

	// The fields below belong to watch.
	pinged  time.Duration // when it last queued a PING
	doubted time.Duration // when it first found the worker dead; 0: it does not
}

// silence returns how long the reader has waited for a byte.
func (p *pulse) silence(now time.Duration) time.Duration {
	if since := p.waits.Load(); since != 0 {
		return now - time.Duration(since)
	}
	return 0
}

// wrote records a write that ended now, and whether it had a PING.
func (p *pulse) wrote(now time.Duration, ping bool) {
	began := p.writes.Swap(0)
	p.written.Store(int64(now))
	// A byte that came since the write began may be the answer.
	if heard := p.heard.Load(); ping && heard < began && p.asked.Load() <= heard {
		p.asked.Store(int64(now))
	}
}

// owes returns when the worker was asked for an answer that has not come. ok is false if it was not asked.
func (p *pulse) owes() (since time.Duration, ok bool) {
	asked := p.asked.Load()
	return time.Duration(asked), asked > p.heard.Load()
}

// dead reports whether the worker was silent for limit and was asked long enough before. A PING is due after
// every without a byte, and the rest of limit is for its answer. A worker that takes no bytes for limit is
// dead, too. sure is false the first time: the caller is to look again.
func (p *pulse) dead(now, limit, every time.Duration) (dead, sure bool) {
	second := limit / lookTwice
	stuck, asked := p.writes.Load(), p.asked.Load()
	silent := p.silence(now) >= limit-second
	answers := asked > p.heard.Load() && now-time.Duration(asked) >= limit-every-second
	if !silent || !answers && (stuck == 0 || now-time.Duration(stuck) < limit-second) {
		p.doubted = 0
		return false, false
	}
	if p.doubted == 0 {
		p.doubted = now
	}
	return true, now-p.doubted >= second
}
