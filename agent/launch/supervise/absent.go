//go:build linux

package supervise

import (
	"slices"
	"strings"
	"sync"

	"github.com/musterhq/muster/rendezvous"
)

// Absent holds the workers that left an elastic run, in all its attempts.
type Absent struct {
	own map[string]int // by name: how often a worker has ended by itself

	mu   sync.Mutex
	gone map[string]lapse // by name, pod and container, see whole
}

// lapse records a dropped worker, which may come back with old processes still running.
type lapse struct{ clearing, clear bool }

// NewAbsent returns an empty Absent.
func NewAbsent() *Absent { return &Absent{own: map[string]int{}, gone: map[string]lapse{}} }

func whole(w rendezvous.Worker) string { return w.Name + "/" + w.UID + "/" + w.ContainerID }

func (a *Absent) note(w rendezvous.Worker) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gone[whole(w)] = lapse{}
}

// Barred reports whether a worker has ended by itself so often that it is not used again. Only the
// goroutine of the run may call it.
func (a *Absent) Barred(worker string) bool { return a.own[worker] >= mostOwn }

// Pods adds the uids of the pods that have left to a set.
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

// Fit leaves out workers that were given up before, until they have ended their old processes. It
// calls tell for each worker that has yet to be told to do so. tell must lead to a call of Cleared,
// from another goroutine.
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

// Cleared records whether a worker has ended its old processes. If not, Fit tells it again.
func (a *Absent) Cleared(w rendezvous.Worker, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, known := a.gone[whole(w)]; known {
		a.gone[whole(w)] = lapse{clearing: ok, clear: ok}
	}
}

// Return forgets that workers were given up, because they take part in the next attempt. The caller has
// made sure that their old processes have ended.
func (a *Absent) Return(workers []rendezvous.Worker) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range workers {
		delete(a.gone, whole(w))
	}
}
