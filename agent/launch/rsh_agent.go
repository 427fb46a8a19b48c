//go:build linux

package launch

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/musterhq/muster/rendezvous"
)

// Whether Open MPI's mpirun runs, whose daemons look for the launcher's rsh agent
// under the same path on every worker, and hang without it.
const (
	noMPIRun    = iota // processes on the workers, or Hydra, which looks nothing up
	maybeMPIRun        // a script, say
	surelyMPIRun
)

// startsDaemons judges by the command.
func (c Config) startsDaemons() int {
	if len(c.Command) == 0 || !c.auto() && c.Framework != launcherFramework {
		return noMPIRun
	}
	base := filepath.Base(c.Command[0])
	_, family, _ := strings.Cut(base, ".")
	switch {
	case slices.Contains([]string{"hydra", "mpich"}, family):
		return noMPIRun
	case IsMPIRun(base):
		return surelyMPIRun
	}
	return maybeMPIRun
}

// lacksRshAgent warns of a worker on which Open MPI's daemons would not find the
// launcher's agent, where nobody knows whether there will be any.
func (r *runner) lacksRshAgent(a *attempt) {
	if len(a.plan.Processes) > 0 || r.cfg.startsDaemons() != maybeMPIRun {
		return
	}
	for _, w := range a.workers {
		if a.made.welcomes[w.Name].RshAgentError != "" && a.number == 0 {
			reason := rendezvous.LinkRshAgentMissing(w.Name, r.agent)
			r.voice.Warn("%s", fmt.Sprintf("%s if the command starts Open MPI's", reason.Sentence))
			r.voice.Hint(reason.Hint)
			return
		}
	}
}
