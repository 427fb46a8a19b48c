package verdict

import (
	"fmt"

	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/exec/names"
)

// keptToLauncher reports whether the command has done distributed work in the launcher and none on
// the workers: its script makes a process group, or it has started a framework's launcher.
func keptToLauncher(e Evidence) bool {
	return (e.Group != "" || e.Alone != "") && e.Opened == 0 && e.Workers > 0
}

// judgeAlone doubts the 0 of such a command.
func judgeAlone(e Evidence) Verdict {
	if e.Group != "" {
		return Verdict{names.ExitUsage, fmt.Sprintf("%s said 0, but it ran in the launcher only: it started nothing on %s", e.Name, allWorkers(e.Workers))}
	}
	return Verdict{names.ExitUsage, fmt.Sprintf("%s said 0, but %s ran in the launcher alone, and on none of the %s", e.Name, e.Alone, phrase.Count(e.Workers, "worker"))}
}

// AloneSentence is what the user is told of a command that has used no worker for a while, "" for
// nothing: meant is the framework that its script is written for, found a framework's launcher that
// it has started here.
func AloneSentence(name, meant, found string) string {
	switch {
	case meant != "":
		return name + " runs in the launcher only; " + wayToWorkers(meant) + " starts it on the workers"
	case found != "" && found != "deepspeed" && found != "horovod": // which may yet call ssh
		return found + " runs in the launcher only; --framework=torch starts " + name + " on the workers"
	}
	return ""
}

// wayToWorkers is what starts a script that makes a process group of that framework on the workers.
func wayToWorkers(group string) string {
	if group == "horovod" {
		return "horovodrun"
	}
	return "--framework=" + group
}
