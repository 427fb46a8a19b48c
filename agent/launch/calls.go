package launch

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/musterhq/muster/exec/wire"
)

// call is a session that the command asked for.
type call struct {
	worker  string
	left    int  // its agent ended before it, as the left-th of all; 0: it did not
	stopped bool // and it was stopped for that
}

// ofCommand tells whether a process belongs to the command of that run: calls
// of `agent rsh` by hand beside it are their users' affair.
func ofCommand(pid int, run string) bool {
	env, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(pid), "environ"))
	return err == nil && slices.ContainsFunc(bytes.Split(env, []byte{0}), func(kv []byte) bool {
		return string(kv) == envRun+"="+run
	})
}

// called notes a session that the command asks for.
func (t *tally) called(worker, id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.job.calls[id] = &call{worker: worker}
	t.job.open++
}

// left notes that the agent of a session ended, which ends the session.
func (t *tally) left(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.job.calls[id]; c != nil && !t.job.closed {
		t.job.leavers++
		c.left = t.job.leavers
	}
}

// answered notes the end of a session, if it is one of the command's.
func (t *tally) answered(id string, exit wire.ExitRecord, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.job.calls[id]
	if c == nil {
		return
	}
	t.job.open--
	if t.job.closed {
		return
	}
	bad, well := badSession(c.worker, exit.Code, exit.Signal, exit.Reason, exit.Error)
	switch {
	case err != nil: // the worker is lost, which is said elsewhere; or we have ended
	case exit.Reason == wire.ReasonStopped:
		c.stopped = true
	case !well:
		t.job.trouble(Trouble{Worker: c.worker, What: "its session " + bad.What, Code: bad.Code, likely: ofSession})
	case !exit.Detached && t.job.quiet == "" && !t.job.ranked[id]:
		t.job.quiet, t.job.since = c.worker, t.now()
	}
}

// openCalls counts the command's sessions that run.
func (t *tally) openCalls() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.job.open
}

// cut lists the workers whose sessions were cut off, in the order in which
// their agents ended.
func (j *job) cut() []string {
	var stopped []*call
	for _, c := range j.calls {
		if c.stopped && c.left > 0 {
			stopped = append(stopped, c)
		}
	}
	slices.SortFunc(stopped, func(a, b *call) int { return a.left - b.left })
	var workers []string
	for _, c := range stopped {
		workers = append(workers, c.worker)
	}
	return workers
}
