//go:build linux

package supervise

import (
	"slices"
	"strings"
	"sync"

	"github.com/musterhq/muster/rendezvous"
)

// Absent are workers that an elastic run has had, over all its attempts.
type Absent struct {
	own map[string]int // by name: how often one ended by itself

	mu   sync.Mutex
	gone map[string]lapse // by what tells one from another
}

// lapse is a worker that was given up. When it is there again it may still run what
// it ran.
type lapse struct{ clearing, clear bool }

// NewAbsent has none.
func NewAbsent() *Absent { return &Absent{own: map[string]int{}, gone: map[string]lapse{}} }

func whole(w rendezvous.Worker) string { return w.Name + "/" + w.UID + "/" + w.ContainerID }

func (a *Absent) note(w rendezvous.Worker) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gone[whole(w)] = lapse{}
}

// Pods adds the uids of those that have gone to a set.
func (a *Absent) Pods(into map[string]bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key := range a.gone {
		if _, rest, ok := strings.Cut(key, "/"); ok {
			uid, _, _ := strings.Cut(rest, "/")
			into[uid] = true
		}
	}
}

// Fit leaves those out that were given up once, until they have ended what they still ran.
// tell is called for each that has yet to be told; it calls Cleared in the end, from another
// goroutine.
func (a *Absent) Fit(ready []rendezvous.Worker, tell func(rendezvous.Worker)) []rendezvous.Worker {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.DeleteFunc(ready, func(w rendezvous.Worker) bool {
		one, known := a.gone[whole(w)]
		if known && !one.clearing {
			a.gone[whole(w)] = lapse{clearing: true}
			tell(w)
		}
		return known && !one.clear
	})
}

// Cleared takes whether a worker has ended what it still ran; if not, it is told again.
func (a *Absent) Cleared(w rendezvous.Worker, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gone[whole(w)] = lapse{clearing: ok, clear: ok}
}
