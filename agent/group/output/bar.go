package output

import "time"

// barEvery is how often, at most, a process's progress bar is shown. What comes
// in between is held back, and shown with the next state.
const barEvery = 100 * time.Millisecond

// bar is a progress bar: a line whose states end with carriage returns. Nobody
// wants to see the first one when the last one is there.
type bar struct {
	end   int       // length of the part of the line up to the last carriage return; 0: none
	shown time.Time // when a state was last shown
	ended bool      // the last byte that was shown is a carriage return, and a line feed of ours
	timer *time.Timer
	err   error // of a state that the timer showed
}

// showBar adds the states that wait to what is written, as a line of their own, or
// has that done as soon as it may be. It is called with own held.
func (l *lines) showBar() {
	if l.bar.end == 0 {
		return
	}
	if wait := barEvery - time.Since(l.bar.shown); wait > 0 {
		if l.bar.timer == nil {
			l.bar.timer = time.AfterFunc(wait, l.barDue)
		} else {
			l.bar.timer.Reset(wait)
		}
		return
	}
	rest := append([]byte(nil), l.part[l.bar.end:]...)
	l.part = l.part[:l.bar.end]
	l.piece(nil)
	l.part, l.cut = append(l.part, rest...), false
	l.bar.shown, l.bar.ended = time.Now(), len(rest) == 0
}

// barDue shows the states that had to wait.
func (l *lines) barDue() {
	l.own.Lock()
	defer l.own.Unlock()
	if l.closed || l.bar.err != nil {
		return
	}
	l.out = l.out[:0]
	l.showBar()
	l.bar.err = l.flush()
}

// afterBar takes a line feed off p that belongs to a carriage return which was
// shown as the end of a line.
func (l *lines) afterBar(p []byte) []byte {
	if l.bar.ended && len(p) > 0 {
		l.bar.ended = false
		if p[0] == '\n' {
			return p[1:]
		}
	}
	return p
}
