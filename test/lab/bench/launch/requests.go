//go:build linux

package main

import (
	"context"
	"time"

	"github.com/musterhq/muster/test/suite/audit"
	"github.com/musterhq/muster/test/suite/await"
)

// settle is how long after its end a request's line may be missing in the audit log: a watch's
// is written when the server sees that its client has gone.
const settle = 2 * time.Second

// count fills in the requests of launches that began after from, by the audit log.
func (w *world) count(ctx context.Context, workers int, from time.Time, all map[string][]sample) error {
	if err := await.Pause(ctx, settle); err != nil {
		return err
	}
	list, err := audit.Since(w.Audit, from)
	if err != nil {
		return err
	}
	for _, c := range contenders() {
		fill(all[c.name], list, "system:serviceaccount:"+w.ns+":"+c.launcher, workers)
	}
	return nil
}

// fill counts a user's requests during each launch.
func fill(samples []sample, list []audit.Request, user string, workers int) {
	for i := range samples {
		n := 0
		for _, r := range list {
			if r.User == user && !r.Received.Before(samples[i].from) && r.Received.Before(samples[i].to) {
				n++
			}
		}
		samples[i].Requests = float64(n) / float64(workers)
	}
}
