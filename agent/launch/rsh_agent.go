//go:build linux

package launch

import (
	"fmt"

	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/rendezvous"
)

// lacksRshAgent warns of a worker on which Open MPI's daemons would not find the
// launcher's agent, where nobody knows whether there will be any.
func (r *runner) lacksRshAgent(a *attempt) {
	if len(a.plan.Processes) > 0 || r.cfg.StartsDaemons() != config.MaybeMPIRun {
		return
	}
	for _, w := range a.workers {
		if a.made.Welcomes[w.Name].RshAgentError != "" && a.number == 0 {
			reason := rendezvous.LinkRshAgentMissing(w.Name, r.agent)
			r.voice.Warn("%s", fmt.Sprintf("%s if the command starts Open MPI's", reason.Sentence))
			r.voice.Hint(reason.Hint)
			return
		}
	}
}
