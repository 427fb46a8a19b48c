package tally

import (
	"errors"
	"time"

	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/exec/broker"
	"github.com/musterhq/muster/exec/names"
)

// RefusedPatience is how long an MPI launcher may go on after `agent rsh` refused one of its calls.
// MPICH 4.0 would wait forever.
const RefusedPatience = 5 * time.Second

// Refused records a call of an mpirun that reached no worker, because its host is unknown or
// ambiguous.
func (t *Tally) Refused(by Launcher, refusal error) {
	trouble := verdict.Trouble{What: phrase.OneLine(refusal), Code: names.ExitTransport, Likely: verdict.OfHost}
	var unknown *broker.UnknownHostError
	if errors.As(refusal, &unknown) {
		trouble.Hint = "leave host names and hostfiles out of the command: `agent run` tells it the workers"
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.job.closed {
		return
	}
	trouble.Launch = t.job.launchOf(by, t.now())
	t.job.trouble(trouble)
}
