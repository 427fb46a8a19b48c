//go:build linux

package launch

import (
	"context"

	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/rendezvous"
)

// pool is the workers of a run: the pods of a cluster, or processes on this machine. It opens
// links to them.
type pool interface {
	// Gather waits until every worker has answered, and returns them ranked.
	Gather(working context.Context) ([]rendezvous.Worker, error)
	// Replace waits until there are others in the place of workers that are gone; of an elastic
	// run, until there are enough. It returns all of them.
	Replace(ctx, working context.Context, v fleet.Vacancies) ([]rendezvous.Worker, error)
	// Ready returns the workers that can take part in an elastic run now.
	Ready(working context.Context) []rendezvous.Worker
	// Pods is where the API server's word of the pods comes from; nil: there is none. Hear takes
	// what the caller has got from there, and Seen is the last that a wait has got.
	Pods() <-chan rendezvous.Snapshot
	Hear(shot rendezvous.Snapshot)
	Seen() rendezvous.Snapshot
	// Depart notes that a worker was told to stop from outside.
	Depart(worker string)
	// Rehearse begins the faults that are to be rehearsed, until ctx ends.
	Rehearse(ctx context.Context)
	// Release says that the workers are about to be told that the job is over. Sweep ends what
	// is left of them then.
	Release()
	Sweep(ctx context.Context) error
}
