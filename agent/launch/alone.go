//go:build linux

package launch

import (
	"time"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/exec/reap"
)

// A launcher such as torchrun, which a script started in the launcher alone, is looked for
// among the script's processes: soon, and then seldom. It takes seconds to begin.
const (
	firstAloneLook = time.Second
	lastAloneLook  = 10 * time.Second
)

// aloneWatch finds a framework's launcher that keeps to the launcher's own place. A nil one
// looks for none.
type aloneWatch struct {
	find  func() ([]reap.Proc, error) // the command's processes
	next  time.Time
	pause time.Duration
	found string // how it was called
}

// watchAlone is for a command of which nothing is known, without --exit.
func (r *runner) watchAlone(argv []string, c *command) *aloneWatch {
	if !r.cfg.auto() || r.cfg.Exit != ExitAuto || r.cfg.detected() != "" || IsMPIRun(argv[0]) {
		return nil
	}
	return &aloneWatch{find: c.tree.Find, pause: firstAloneLook}
}

// look looks at the processes if it is time to, and the command has no session yet.
func (w *aloneWatch) look(now time.Time, sessions int) {
	if w == nil || w.found != "" || sessions > 0 || now.Before(w.next) {
		return
	}
	w.next, w.pause = now.Add(w.pause), min(2*w.pause, lastAloneLook)
	procs, err := w.find()
	if err != nil {
		return // the next look may have more luck
	}
	for _, p := range procs {
		if name := framework.LauncherIn(argvOf(p.PID)); name != "" {
			w.found = name
			return
		}
	}
}

// seen is the launcher that was found; "" for none.
func (w *aloneWatch) seen() string {
	if w == nil {
		return ""
	}
	return w.found
}
