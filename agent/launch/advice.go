//go:build linux

package launch

import (
	"fmt"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/launch/command"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/rendezvous"
)

// advice returns the hint that follows a failed command: the likeliest one, or "".
func (r *runner) advice(a *attempt) string {
	e, v := a.evidence, a.verdict
	if hint := verdict.Hint(e, v); hint != "" {
		return hint
	}
	if e.Code == 0 || e.Told != 0 || e.Start != nil || len(e.Lost) > 0 {
		return ""
	}
	if names.IsMPIRun(e.Name) && len(e.Ranks) == 0 {
		slots := 0
		for _, h := range a.plan.All() {
			slots += h.Slots
		}
		if hint := verdict.TooManyRanks(r.cfg.Command, slots, e.Workers); hint != "" {
			return hint
		}
		return verdict.OwnCodes()[e.Code]
	}
	if name := r.meantFor(e); name != "" {
		return e.Name + " ran only in the launcher: --framework=" + name + " starts it on each worker"
	}
	return ""
}

// meantFor returns the framework for which a Python script that ran in the launcher only is
// written. It returns "" if the script was meant to run here, or if the framework is unknown.
func (r *runner) meantFor(e verdict.Evidence) string {
	if !r.cfg.Auto() || r.cfg.Exit != verdict.ExitAuto || e.Opened > 0 || e.Workers == 0 {
		return ""
	}
	return r.namedByScript()
}

// namedByScript returns the framework whose variables or calls the command's Python script names.
func (r *runner) namedByScript() string {
	path, text := framework.Script(r.cfg.Command)
	if path != "" {
		text = framework.Scripts(r.cfg.Chdir)(path)
	}
	return framework.OfScript(text)
}

// watchAlone returns the watch for an unknown command without --exit, and nil for other commands.
func (r *runner) watchAlone(argv []string, c *command.Command) *command.Alone {
	if !r.cfg.Auto() || r.cfg.Exit != verdict.ExitAuto || r.cfg.Detected() != "" || names.IsMPIRun(argv[0]) {
		return nil
	}
	return c.WatchAlone(framework.Initialises(r.cfg.Command, framework.Scripts(r.cfg.Chdir)), r.namedByScript(),
		func(sentence string) { r.voice.Warn("%s", sentence) })
}

// lacksRshAgent warns about a worker where Open MPI's daemons would not find the launcher's agent,
// if it is unknown whether the command starts such daemons.
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
