package leg

// Stall silences the newest connection now, in both directions, and reports
// whether there was one.
func (l *Leg) Stall() bool {
	l.mu.Lock()
	p := l.newest
	l.mu.Unlock()
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stalled = [2]bool{true, true}
	return true
}

// Now ends the newest connection at once, by FIN or by RST.
func (l *Leg) Now(f Fault) {
	l.mu.Lock()
	p := l.newest
	l.mu.Unlock()
	switch {
	case p == nil:
	case f == FIN:
		p.finish()
	default:
		p.cut()
	}
}
