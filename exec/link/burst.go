package link

import "time"

const (
	// burstSize within burstTime is more than people read: somebody moves data.
	burstSize = 32 << 20
	burstTime = time.Second
)

// Changer is a Dialer that has a second way to the worker, which costs less for each
// byte and more to hold.
type Changer interface {
	// Change lets dials from now on take that way, and says whether they will.
	Change() bool
}

// burst tells when so much comes that the second way is worth it.
type burst struct {
	since time.Time
	bytes int
	told  bool
}

// add counts n bytes that came now, and reports true once.
func (b *burst) add(n int, now time.Time) bool {
	if now.Sub(b.since) > burstTime {
		b.since, b.bytes = now, 0
	}
	b.bytes += n
	if b.told || b.bytes < burstSize {
		return false
	}
	b.told = true
	return true
}

// mayChange asks the Dialer for its second way.
func (l *Link) mayChange() bool {
	d, ok := l.cfg.Dialer.(Changer)
	return ok && d.Change()
}
