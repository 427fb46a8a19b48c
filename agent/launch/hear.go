//go:build linux

package launch

import (
	"context"
	"time"

	"github.com/musterhq/muster/agent/launch/hang"
	"github.com/musterhq/muster/agent/launch/tally"
	"github.com/musterhq/muster/agent/launch/wait"
)

// hearOut waits for what the workers have to say of a command that has ended:
// until its sessions have ended and all have given a sign of life since. Of a script those
// of its mpiruns count.
func (s *supervisor) hearOut(ctx context.Context, failed bool) {
	hearing, stop := context.WithTimeout(ctx, tally.HeardWait)
	defer stop()
	open := s.tally.OpenCalls
	if s.script() {
		open = func() int { return s.tally.OpenLaunched() + s.tally.OpenOrders() }
	}
	for open() > 0 && wait.Sleep(hearing, 5*time.Millisecond) {
	}
	s.links.Heard(hearing)
	if !failed {
		s.outlast(ctx)
	}
}

// outlastPause is the time between two questions whether ranks still live.
const outlastPause = 100 * time.Millisecond

// outlast waits until the ranks below daemons that have left their sessions have ended too.
// Open MPI 4's mpirun ends with 0 a second before its daemons end ranks after MPI_Abort with
// 0, and links that are parked have told nothing.
func (s *supervisor) outlast(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, verdictWait)
	defer stop()
	sessions := s.tally.Detached()
	workers := map[string]hang.Asker{}
	for name, worker := range s.links.Askers() {
		if len(sessions[name]) > 0 {
			workers[name] = worker
		}
	}
	for len(workers) > 0 {
		still := map[string]hang.Asker{}
		for name, r := range hang.AskAll(ctx, workers) {
			if r.Err == nil && hang.HasRanks(r.Scene, sessions[name]) {
				still[name] = workers[name]
			}
		}
		if workers = still; len(still) > 0 && !wait.Sleep(ctx, outlastPause) {
			return
		}
	}
}
