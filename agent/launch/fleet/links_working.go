//go:build linux

package fleet

import (
	"maps"

	"github.com/musterhq/muster/agent/launch/hang"
)

// Seat records which workers take part in a run with spares. The others are spares: their links, and
// the loss of one, do not concern what runs.
func (l *Links) Seat(workers map[string]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seated = workers
}

// Working returns the Standings of the workers that take part in the run.
func (l *Links) Working() map[string]Standing {
	all := l.Standings()
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(all, func(name string, _ Standing) bool { return l.seated != nil && !l.seated[name] })
	return all
}

// Spares returns the names of the spares that have links.
func (l *Links) Spares() map[string]bool {
	spares := map[string]bool{}
	l.mu.Lock()
	defer l.mu.Unlock()
	for name := range l.held {
		if l.seated != nil && !l.seated[name] {
			spares[name] = true
		}
	}
	return spares
}

// Askers returns the workers of a run that are not lost.
func (l *Links) Askers() map[string]hang.Asker {
	all := map[string]hang.Asker{}
	for name, s := range l.Working() {
		if s.Err == nil {
			all[name] = s.Link
		}
	}
	return all
}
