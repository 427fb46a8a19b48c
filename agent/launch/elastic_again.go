//go:build linux

package launch

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/rendezvous"
)

// absent are workers that an elastic run has had, over all its attempts.
type absent struct {
	own map[string]int // by name: how often one ended by itself

	mu   sync.Mutex
	gone map[string]lapse // by what tells one from another
}

// lapse is a worker that was given up. When it is there again it may still run what
// it ran.
type lapse struct{ clearing, clear bool }

func newAbsent() absent { return absent{own: map[string]int{}, gone: map[string]lapse{}} }

func whole(w rendezvous.Worker) string { return w.Name + "/" + w.UID + "/" + w.ContainerID }

func (a *absent) note(w rendezvous.Worker) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gone[whole(w)] = lapse{}
}

// pods are those that have gone, by uid.
func (a *absent) pods(into map[string]bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key := range a.gone {
		if _, rest, ok := strings.Cut(key, "/"); ok {
			uid, _, _ := strings.Cut(rest, "/")
			into[uid] = true
		}
	}
}

// fit leaves those out that were given up once, until they have ended what they
// still ran.
func (r *runner) fit(working context.Context, ready []rendezvous.Worker) []rendezvous.Worker {
	a := &r.absent
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.DeleteFunc(ready, func(w rendezvous.Worker) bool {
		one, known := a.gone[whole(w)]
		if known && !one.clearing {
			a.gone[whole(w)] = lapse{clearing: true}
			r.wg.Go(func() { r.clearOne(working, w) })
		}
		return known && !one.clear
	})
}

func (r *runner) clearOne(working context.Context, w rendezvous.Worker) {
	st := r.links.Standings()[w.Name]
	ok := st.Link != nil && fleet.Same(st.Worker, w) && st.Link.End(working, true, clearGrace) == nil
	r.absent.mu.Lock()
	r.absent.gone[whole(w)] = lapse{clearing: ok, clear: ok}
	r.absent.mu.Unlock()
	r.links.Nudge()
}
