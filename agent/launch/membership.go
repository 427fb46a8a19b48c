//go:build linux

package launch

import (
	"context"
	"time"

	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/rendezvous"
)

// membership says which workers take part in the attempts of a run. fixed is for the same workers
// from beginning to end, and elastic is for workers that join and leave. supervise has the same two
// for what happens during an attempt.
type membership interface {
	// enroll prepares an attempt that is about to start.
	enroll(working context.Context, a *attempt)
	// next returns the workers of the attempt after a. gone are workers of a that cannot take part.
	// given are those of them that we have given up, so that others take their places.
	next(ctx, working context.Context, a *attempt, gone, given []string) ([]rendezvous.Worker, error)
}

// fixed is the membership of a run without --min-workers.
type fixed struct{ *runner }

func (fixed) enroll(context.Context, *attempt) {}

// next waits until spares, or new workers, have replaced lost ones. Without lost workers the slots may
// still have changed: the owner of a pod that was resized in place may annotate it.
func (r fixed) next(ctx, working context.Context, a *attempt, gone, given []string) ([]rendezvous.Worker, error) {
	if len(gone) == 0 {
		return rendezvous.Renewed(a.workers, r.shot), nil
	}
	if r.seats == nil {
		return r.replace(ctx, working, gone, given, r.fleet.Replace)
	}
	began, why := time.Now(), r.vacate(a.workers, gone, given)
	return r.replace(ctx, working, gone, given, func(ctx, working context.Context, v fleet.Vacancies) ([]rendezvous.Worker, error) {
		workers, err := r.fleet.Replace(ctx, working, v)
		for err == nil && r.rejected(ctx, workers) {
			v.Names, v.Shot = nil, r.fleet.Seen()
			workers, err = r.fleet.Replace(ctx, working, v)
		}
		if err == nil {
			r.seat(a.number+1, workers, why, began)
		}
		return workers, err
	})
}
