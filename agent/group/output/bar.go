package output

import "time"

// barEvery is the shortest time between two updates of a process's progress bar. States in between
// are held back and shown with the next one.
const barEvery = 100 * time.Millisecond

// bar is a progress bar: a line whose states end with carriage returns. Old states are not worth
// showing when a newer one is there.
type bar struct {
	end   int       // length of the line up to the last carriage return; 0: none
	shown time.Time // time of the last update
	ended bool      // the last byte shown is a carriage return, followed by a line feed of ours
	timer *time.Timer
	err   error // of an update by the timer
}

// showBar adds the waiting states to the output as a separate line, or arranges that for the
// earliest permitted time. Called with own held.
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

// afterBar removes a line feed from p that belongs to a carriage return which was already shown as
// the end of a line.
func (l *lines) afterBar(p []byte) []byte {
	if l.bar.ended && len(p) > 0 {
		l.bar.ended = false
		if p[0] == '\n' {
			return p[1:]
		}
	}
	return p
}
