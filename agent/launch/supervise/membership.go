//go:build linux

package supervise

import (
	"context"
	"time"

	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/rendezvous"
)

// membership says who takes part in an attempt, and what follows from the loss of a worker. fixed
// is for the same workers from beginning to end, and elastic is for workers that join and leave.
type membership interface {
	// lostLinks checks for links that are lost for good, and lostPods for such pods. Both report
	// whether that changed how the command is to end.
	lostLinks(now time.Time) (changed bool)
	lostPods(shot rendezvous.Snapshot, now time.Time) (changed bool)
	// settleLinks accepts the cause that a link gave if the pod's status has not explained more in
	// time.
	settleLinks(now time.Time)
	// incomplete reports whether a worker was lost before the command started.
	incomplete() bool
	// lastLook searches for the cause of a failure for a short time if a worker may be lost.
	lastLook(ctx context.Context, failed bool)
	// needed reports whether the command does not survive the loss of a worker. spares reports
	// whether it continues when a worker was told to stop.
	needed() bool
	spares() bool
	// restartsWithout returns why the attempt restarts when this worker leaves; "" if it does not.
	restartsWithout(worker string) string
	// pardon removes from the evidence what the command survived.
	pardon(e *verdict.Evidence)
	// departing returns the workers that are leaving.
	departing() map[string]bool
	// overrule returns the verdict about an attempt that we ended because of its workers. stopped
	// means that its processes ended only because of that. lost are its lost workers.
	overrule(stopped bool, lost []verdict.Lost) (v verdict.Verdict, overruled bool)
}
