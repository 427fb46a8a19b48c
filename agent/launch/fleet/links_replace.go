//go:build linux

package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/rendezvous"
)

// LoseWorker is Lose for this worker only, and not for a replacement with the same name.
func (l *Links) LoseWorker(w rendezvous.Worker, cause error) {
	l.mu.Lock()
	m := l.held[w.Name]
	l.mu.Unlock()
	if m != nil && Same(m.worker, w) {
		m.link.Lose(link.Gone, cause)
	}
}

// Replace ends everything on these workers, and their agents in such a way that other workers take
// their places. why has their names, each with a reason such as names.WhyPreflight, or "". It returns
// the workers whose agents are too old for that, which stay. Errors name the workers that did not
// answer before ctx ended.
func (l *Links) Replace(ctx context.Context, why map[string]string, grace time.Duration) (stay []string, err error) {
	var mu sync.Mutex
	var errs []error
	var group errgroup.Group
	for name, s := range l.Standings() {
		reason, chosen := why[name]
		if !chosen {
			continue
		}
		group.Go(func() error {
			err := s.Link.Replace(ctx, reason, grace)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.Is(err, link.ErrNotReplaced):
				stay = append(stay, name)
			case err != nil:
				errs = append(errs, fmt.Errorf("worker %s: %w", name, err))
			}
			return nil
		})
	}
	_ = group.Wait() // its functions return nil
	slices.Sort(stay)
	return stay, errors.Join(errs...)
}

// Same reports whether both are the same pod and the same container.
func Same(a, b rendezvous.Worker) bool {
	return a.Name == b.Name && a.UID == b.UID && a.ContainerID == b.ContainerID
}
