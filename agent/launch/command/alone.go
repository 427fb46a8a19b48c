//go:build linux

package command

import (
	"cmp"
	"time"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/exec/reap"
)

// A launcher such as torchrun, which a script started in the launcher alone, is looked for
// among the script's processes: soon, and then seldom. It takes seconds to begin.
const (
	firstAloneLook = time.Second
	lastAloneLook  = 10 * time.Second
	// aloneAfter is how long a command may use no worker before we say so.
	aloneAfter = 5 * time.Second
)

// Alone finds a command that keeps to the launcher: a script that makes a process group,
// or one that starts a framework's launcher there. A nil one looks for none.
type Alone struct {
	find    func() ([]reap.Proc, error) // the command's processes
	name    string                      // of the command
	group   string                      // the framework whose process group its script makes; "": none is known to
	names   string                      // the framework that its script names, which may be for the workers
	said    func(sentence string)
	begun   time.Time
	next    time.Time
	pause   time.Duration
	found   string // how the framework's launcher was called
	settled bool   // it was said, or a worker was used
}

// WatchAlone looks whether the command keeps to the launcher. group is the framework whose
// process group its script makes, and names the one that it names.
func (c *Command) WatchAlone(group, names string, said func(sentence string)) *Alone {
	return &Alone{find: c.tree.Find, name: c.name, pause: firstAloneLook, begun: time.Now(), group: group, names: names, said: said}
}

// Look looks at the processes if it is time to, and the command has no session yet.
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

// launcher is the name of a framework's launcher among the command's processes, "" for none.
func (w *Alone) launcher() string {
	procs, err := w.find()
	if err != nil {
		return "" // the next look may have more luck
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
