//go:build linux

package launch

import (
	"bytes"
	"errors"
	"syscall"
	"time"

	"github.com/musterhq/muster/agent/names"
	"github.com/musterhq/muster/exec/broker"
	"github.com/musterhq/muster/exec/reap"
)

// refusedPatience is how long an MPI launcher may go on after `agent rsh` refused one of
// its calls. MPICH 4.0 would wait forever.
const refusedPatience = 5 * time.Second

// mostAbove bounds the scripts between an MPI launcher and its stub.
const mostAbove = 4

// callerOf returns the MPI launcher, by its name, that a stub was started by. A stub that a
// person or a script calls has none.
func callerOf(stub int) (caller, bool) {
	var buf bytes.Buffer
	p, err := reap.Stat(stub, &buf)
	for range mostAbove {
		if err != nil {
			return caller{}, false
		}
		if p, err = reap.Stat(p.PPID, &buf); err == nil && IsMPIRun(p.Comm) {
			return caller{pid: p.PID, start: p.Start, name: p.Comm}, true
		}
	}
	return caller{}, false
}

// lives reports whether the launcher has not ended.
func (c caller) lives() bool {
	p, err := reap.Stat(c.pid, new(bytes.Buffer))
	return err == nil && p.Start == c.start && p.Alive()
}

// refused notes a call of an MPI launcher that reached no worker: its host is none, or is
// ambiguous.
func (t *tally) refused(c caller, refusal error) {
	trouble := Trouble{What: oneLine(refusal), Code: names.ExitTransport, likely: ofHost}
	var unknown *broker.UnknownHostError
	if errors.As(refusal, &unknown) {
		trouble.hint = "leave host names and hostfiles out of the command: `agent run` tells it the workers"
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.job.closed {
		return
	}
	t.job.trouble(trouble)
	c.why, c.at = trouble.What, t.now()
	t.job.refused = append(t.job.refused, c)
}

// waiting takes the MPI launchers that have waited long enough after a refusal.
func (t *tally) waiting() (due []caller) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.job.refused) > 0 && t.now().Sub(t.job.refused[0].at) >= refusedPatience {
		due = append(due, t.job.refused[0])
		t.job.refused = t.job.refused[1:]
	}
	return due
}

// endWaiting kills an MPI launcher behind a script that goes on after a refusal: it would
// wait forever. After TERM, MPICH 4.0 would exit with 0. The script goes on.
func (s *supervisor) endWaiting() {
	if s.group || s.strict() || s.cfg.Exit != ExitAuto {
		return
	}
	for _, c := range s.tally.waiting() {
		if !c.lives() {
			continue
		}
		s.voice.Warn("%s; %s (pid %d) did not end by itself, and is killed", c.why, c.name, c.pid)
		_ = syscall.Kill(c.pid, syscall.SIGKILL) // ESRCH: it has just ended
	}
}
