//go:build linux

package supervise

import (
	"context"
	"fmt"
	"time"

	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/hang"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/launch/tally"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/agent/launch/wait"
)

// Aftermath searches for the cause of a failure for a short time if a worker may be lost, because
// mpirun is often the first to notice.
func (s *Supervisor) Aftermath(ctx context.Context, failed bool) {
	if (s.strict() || s.script() && s.tally.Launchers() > 0) && !s.ending.phase.told() {
		s.hearOut(ctx, failed)
	}
	s.onLinks(time.Now())
	s.membership.lastLook(ctx, failed)
}

// hearOut waits for the last reports of the workers about a command that has ended. It waits until
// the command's sessions have ended and all workers have given a sign of life since. For a script
// it waits only for the sessions of its launchers.
func (s *Supervisor) hearOut(ctx context.Context, failed bool) {
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

// outlastPause is the time between two checks whether ranks still live.
const outlastPause = 100 * time.Millisecond

// outlast waits until the ranks of daemons that have left their sessions have ended too. After
// MPI_Abort with 0, Open MPI 4's mpirun ends with 0 one second before its daemons end the ranks.
// Parked links have reported nothing.
func (s *Supervisor) outlast(ctx context.Context) {
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

// answerTime is how long a worker must owe an answer before its silence proves anything. A launcher that
// has lost thousands of links at once needs time to dial them again: links wait for their turn, and
// workers that are dialed have work to do.
const answerTime = 5 * time.Second

// loseSilent marks workers as lost that were asked for a sign of life and gave none, although the launcher
// of a failed command searched for one throughout verdictWait. The pods' status explains nothing either.
// If no worker answers at all, the API server is down, and no worker is lost.
func (s *Supervisor) loseSilent(all map[string]fleet.Standing) {
	var silent []fleet.Standing
	now := time.Now()
	for _, st := range all {
		if st.State.Linked && !st.State.Connected && !st.State.Parked {
			silent = append(silent, st)
		}
	}
	if len(silent) == len(all) {
		return
	}
	for _, st := range silent {
		owed := now.Sub(st.State.Asked)
		if st.State.Asked.IsZero() || owed < answerTime {
			continue
		}
		cause := fmt.Sprintf("no sign of life for %s", phrase.Seconds(owed))
		if st.State.Last != nil {
			cause += ": " + phrase.OneLine(st.State.Last)
		}
		s.lose(verdict.Lost{Worker: st.Worker.Name, Cause: cause})
	}
}
