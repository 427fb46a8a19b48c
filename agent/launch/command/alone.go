//go:build linux

package command

import (
	"cmp"
	"time"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/exec/reap"
)

// These times say how often to look for a launcher such as torchrun that a script started in the
// launcher only. The first look comes early, and later looks are rare, because such a launcher
// takes seconds to start.
const (
	firstAloneLook = time.Second
	lastAloneLook  = 10 * time.Second
	// aloneAfter is how long a command may use no worker before the user is told.
	aloneAfter = 5 * time.Second
)

// Alone detects a command that runs in the launcher only: a script that creates a process group, or
// one that starts a framework's launcher there. A nil Alone does nothing.
type Alone struct {
	find    func() ([]reap.Proc, error) // finds the command's processes
	name    string                      // of the command
	group   string                      // the framework whose process group its script creates; "": none is known
	names   string                      // the framework that its script names, which may be for the workers
	said    func(sentence string)
	begun   time.Time
	next    time.Time
	pause   time.Duration
	found   string // the name of the framework's launcher
	settled bool   // the user was told, or a worker was used
}

// WatchAlone detects whether the command runs in the launcher only. group is the framework whose
// process group its script creates. names is the framework that the script names. said is called
// once with the sentence for the user.
func (c *Command) WatchAlone(group, names string, said func(sentence string)) *Alone {
	return &Alone{find: c.tree.Find, name: c.name, pause: firstAloneLook, begun: time.Now(), group: group, names: names, said: said}
}

// Look checks the processes if a look is due and the command has opened no session yet.
func (w *Alone) Look(now time.Time, sessions int) {
	if w == nil || sessions > 0 {
		return
	}
	if w.found == "" && !now.Before(w.next) {
		w.next, w.pause = now.Add(w.pause), min(2*w.pause, lastAloneLook)
		w.found = w.launcher()
	}
	if w.settled || now.Sub(w.begun) < aloneAfter {
		return
	}
	if sentence := verdict.AloneSentence(w.name, cmp.Or(w.group, w.names), w.found); sentence != "" {
		w.settled = true
		w.said(sentence)
	}
}

// launcher returns the name of a framework's launcher among the command's processes, or "".
func (w *Alone) launcher() string {
	procs, err := w.find()
	if err != nil {
		return "" // the next look may succeed
	}
	for _, p := range procs {
		if name := framework.LauncherIn(argvOf(p.PID)); name != "" {
			return name
		}
	}
	return ""
}

// Testify adds what was found to the evidence.
func (w *Alone) Testify(e *verdict.Evidence) {
	if w != nil {
		e.Alone, e.Group = w.found, w.group
	}
}
