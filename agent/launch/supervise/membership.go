//go:build linux

package supervise

import (
	"context"
	"time"

	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/rendezvous"
)

// membership is who takes part in an attempt, and what follows when a worker is lost: fixed for
// the same workers from its beginning to its end, elastic for those that come and go.
type membership interface {
	// lostLinks looks for links that are lost for good, and lostPods for pods that are. Both report
	// whether that changed how the command is to end.
	lostLinks(now time.Time) (changed bool)
	lostPods(shot rendezvous.Snapshot, now time.Time) (changed bool)
	// settleLinks takes the word of a link where the pod's status has not said more in time.
	settleLinks(now time.Time)
	// incomplete reports whether a worker was lost before the command began.
	incomplete() bool
	// lastLook looks for the cause of a failure a moment longer, where a worker may be lost.
	lastLook(ctx context.Context, failed bool)
	// needed reports whether the command does not get over the loss of a worker, and spares
	// whether it goes on when one was told to stop.
	needed() bool
	spares() bool
	// anewWithout says why the attempt begins again when that worker goes; "": it does not.
	anewWithout(worker string) string
	// pardon leaves out of the evidence what the command got over.
	pardon(e *verdict.Evidence)
	// departing are the workers that are leaving.
	departing() map[string]bool
	// overrule returns the verdict on an attempt that we ended because of its workers. stopped:
	// its processes have ended because of that alone. lost are its workers that are.
	overrule(stopped bool, lost []verdict.Lost) (v verdict.Verdict, overruled bool)
}
