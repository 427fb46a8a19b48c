package verdict

import (
	"fmt"

	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/exec/names"
)

// keptToLauncher reports whether the command has done distributed work in the launcher and none on
// the workers. Either its script creates a process group, or it has started a framework's launcher.
func keptToLauncher(e Evidence) bool {
	return (e.Group != "" || e.Alone != "") && e.Opened == 0 && e.Workers > 0
}

// judgeAlone rejects the 0 of such a command.
func judgeAlone(e Evidence) Verdict {
	if e.Group != "" {
		return Verdict{names.ExitUsage, fmt.Sprintf("%s exited with 0, but it ran in the launcher only: it started nothing on %s", e.Name, allWorkers(e.Workers))}
	}
	return Verdict{names.ExitUsage, fmt.Sprintf("%s exited with 0, but %s ran only in the launcher, and on none of the %s", e.Name, e.Alone, phrase.Count(e.Workers, "worker"))}
}

// AloneSentence returns what to tell the user about a command that has used no worker for a while,
// or "". meant is the framework that its script is written for. found is a framework's launcher
// that the command has started in the launcher.
func AloneSentence(name, meant, found string) string {
	switch {
	case meant != "":
		return name + " runs in the launcher only; " + wayToWorkers(meant) + " starts it on the workers"
	case found != "" && found != "deepspeed" && found != "horovod": // these may still call ssh
		return found + " runs in the launcher only; --framework=torch starts " + name + " on the workers"
	}
	return ""
}

// wayToWorkers returns what starts a script with a process group of this framework on the workers.
func wayToWorkers(group string) string {
	if group == "horovod" {
		return "horovodrun"
	}
	return "--framework=" + group
}
