//go:build linux

package session

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// When a rank has died, its launcher kills the others some microseconds later. The observer reports
// ends in the kernel's order, so that the first one is the cause.
const (
	// endPause is how long a parent has to collect a process before we look again. Later pauses are
	// longer, up to longestEndPause.
	endPause        = 100 * time.Microsecond
	longestEndPause = 10 * time.Millisecond
	// turnTime is how long an end waits for earlier ones that cannot be reported yet.
	turnTime = 50 * time.Millisecond
	// turnsTime is the longest wait for the kernel to report the ends of processes.
	turnsTime = 10 * time.Millisecond
)

// awaitEnd reports the end of a process when it comes. If the kernel cannot report it, a look does.
func (o *observer) awaitEnd(key being, w *watched) {
	if w.pidfd == nil || o.ends == nil {
		return
	}
	err := o.ends.Add(w.pidfd, func() {
		o.turn++
		w.turn.Store(o.turn)
		o.srv.wg.Go(func() {
			for pause := endPause; !o.endSeen(key, w); pause = min(2*pause, longestEndPause) {
				time.Sleep(pause) // its parent is about to collect it, unless that is stopped
			}
		})
	})
	if err != nil {
		o.srv.cfg.Log.Debug("the end of a process will be reported late", "err", err)
	}
}

// endSeen reports whether the end of a watched process has been reported.
func (o *observer) endSeen(key being, w *watched) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.watched[key] != w {
		return true
	}
	if w.ended.IsZero() {
		w.ended = time.Now()
	}
	if time.Since(w.ended) < turnTime && o.isLaterLocked(w) {
		return false
	}
	st, known, wait := endOf(key, w)
	switch {
	case known:
		o.starvedLocked()
		o.endLocked(key, st)
	case wait:
		return false
	default:
		o.loseSightLocked(key)
	}
	return true
}

// isLaterLocked reports whether another process of the session ended before, and has not been
// reported yet. The caller holds o.mu.
func (o *observer) isLaterLocked(w *watched) bool {
	for _, other := range o.watched {
		if turn := other.turn.Load(); other.session == w.session && turn != 0 && turn < w.turn.Load() {
			return true
		}
	}
	return false
}

// miss reports the ends of processes that are not alive any longer, as far as they are known.
func (o *observer) miss(x *session, alive map[being]bool) {
	o.awaitTurns(x, alive)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.starvedLocked()
	for _, key := range o.missingLocked(x, alive) {
		w := o.watched[key]
		if w == nil {
			continue // the end of its daemon has reported it
		}
		st, known, wait := endOf(key, w)
		if wait && !known {
			continue // not collected yet
		}
		if known {
			o.endLocked(key, st)
		} else {
			o.loseSightLocked(key)
		}
	}
}

// missingLocked lists the watched processes of a session that are not alive, in the order of their
// ends. The caller holds o.mu.
func (o *observer) missingLocked(x *session, alive map[being]bool) (all []being) {
	turns := map[being]int64{}
	for key, w := range o.watched {
		if w.session != x || alive[key] {
			continue
		}
		all = append(all, key)
		if turns[key] = w.turn.Load(); turns[key] == 0 {
			turns[key] = math.MaxInt64
		}
	}
	slices.SortFunc(all, func(a, b being) int { return cmp.Or(cmp.Compare(turns[a], turns[b]), a.pid-b.pid) })
	return all
}

// awaitTurns waits until the kernel has reported the ends of a session's processes that are not
// alive.
func (o *observer) awaitTurns(x *session, alive map[being]bool) {
	for until := time.Now().Add(turnsTime); o.anyWithoutTurn(x, alive) && time.Now().Before(until); {
		time.Sleep(endPause)
	}
}

func (o *observer) anyWithoutTurn(x *session, alive map[being]bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for key, w := range o.watched {
		if w.session == x && !alive[key] && w.pidfd != nil && o.ends != nil && w.turn.Load() == 0 {
			return true
		}
	}
	return false
}
