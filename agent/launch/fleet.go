//go:build linux

package launch

import (
	"context"

	"github.com/musterhq/muster/rendezvous"
)

// fleet is the workers of a run: the pods of a cluster, or processes on this machine. It opens
// links to them.
type fleet interface {
	// gather waits until every worker has answered, and returns them ranked.
	gather(working context.Context) ([]rendezvous.Worker, error)
	// replace waits until there are others in the place of workers that are gone; of an elastic
	// run, until there are enough. It returns all of them.
	replace(ctx, working context.Context, v vacancies) ([]rendezvous.Worker, error)
	// ready returns the workers that can take part in an elastic run now.
	ready(working context.Context) []rendezvous.Worker
	// pods is where the API server's word of the pods comes from; nil: there is none. hear takes
	// what the caller has got from there, and seen is the last that a wait has got.
	pods() <-chan rendezvous.Snapshot
	hear(shot rendezvous.Snapshot)
	seen() rendezvous.Snapshot
	// depart notes that a worker was told to stop from outside.
	depart(worker string)
	// rehearse begins the faults that are to be rehearsed, until ctx ends.
	rehearse(ctx context.Context)
	// release says that the workers are about to be told that the job is over. sweep ends what
	// is left of them then.
	release()
	sweep(ctx context.Context) error
}

// vacancies are the places of workers that are gone.
type vacancies struct {
	names []string
	past  *past
	shot  rendezvous.Snapshot // the last that was heard of the pods
}
