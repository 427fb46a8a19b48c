//go:build linux

package record

import (
	"maps"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/rendezvous"
)

// Follower is a second reader of a Log.
type Follower interface {
	// Take takes one event as a JSON object without a newline. Events come in the order of the file,
	// one at a time. Take must not block, must not call the Log, and must not keep line.
	Take(line []byte)
}

// Follow passes all later events on to a follower, even if the file has to drop them.
func (l *Log) Follow(f Follower) {
	if l == nil {
		return
	}
	l.mu.Lock()
	l.follower = f
	l.mu.Unlock()
	l.pods.mu.Lock()
	l.pods.waiting = map[string]int{}
	l.pods.mu.Unlock()
}

// Attempt returns the current attempt.
func (l *Log) Attempt() int {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.attempt
}

// Sample adds what the Log knows to a sample: the workers that were not ready at the last look.
func (l *Log) Sample(s *event.Sample) {
	if l == nil {
		return
	}
	l.pods.mu.Lock()
	defer l.pods.mu.Unlock()
	s.Waiting = maps.Clone(l.pods.waiting)
}

// Count counts the workers that are not ready, by reason. Without a follower it does nothing.
func (l *Log) Count(p rendezvous.Progress) {
	if l == nil {
		return
	}
	l.pods.mu.Lock()
	defer l.pods.mu.Unlock()
	if l.pods.waiting == nil {
		return
	}
	clear(l.pods.waiting)
	absent, missing := p.Want-p.Ready, false
	for _, w := range p.Waiting {
		switch {
		case w.Name != "":
			l.pods.waiting[string(w.Reason.Code)]++
			absent--
		case w.Reason.Code == rendezvous.Missing: // one line for all of them
			missing = true
		}
	}
	if missing && absent > 0 {
		l.pods.waiting[string(rendezvous.Missing)] += absent
	}
}
