//go:build linux

package launch

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

func (s *supervisor) strict() bool {
	return !s.group && s.cfg.Rule() == ExitStrict && (s.roster == nil || s.roster.needed)
}

// silentPatience is for what mpirun does not notice: it had its time before.
const silentPatience = time.Second

// announceAfter keeps a trouble to itself that mpirun notices at once: the
// verdict names it then.
const announceAfter = 2 * time.Second

// onTrouble lets the command's end begin when PID 1 of a worker saw what the
// job does not get over: true when that changed how it is to end. Only a command
// that is judged strictly is ended: it could not end well any more.
func (s *supervisor) onTrouble(now time.Time) (changed bool) {
	t, ok := s.tally.trouble()
	if !ok || !s.strict() {
		return false
	}
	patience := troublePatience
	switch {
	case t.silent:
		patience = silentPatience
	case t.likely == ofHost:
		patience = refusedPatience
	case s.cfg.MaxRestarts > 0:
		patience = lostPatience // the next attempt waits, and says what this one would have
	}
	if changed = s.ending.onTrouble(patience, s.cfg.Grace); changed {
		s.illAt = now
	}
	if s.ending.ill && !s.ending.lost && !s.announced && (t.silent || now.Sub(s.illAt) >= announceAfter) {
		s.announced = true
		s.voice.Say("%s; %s has %s to end by itself", t.says(), s.name, seconds(patience-now.Sub(s.illAt)))
	}
	return changed
}

// reporting: every worker tells of its daemons and ranks.
func (s *supervisor) reporting() bool {
	for _, st := range s.links.standings() {
		if w, ok := st.link.Welcome(); !ok || !w.Reports {
			return false
		}
	}
	return true
}

// hearOut waits for what the workers have to say of a command that has ended:
// until its sessions have ended and all have given a sign of life since.
func (s *supervisor) hearOut(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, heardWait)
	defer stop()
	for s.tally.openCalls() > 0 && sleep(ctx, 5*time.Millisecond) {
	}
	s.links.heard(ctx)
}

// ofCommand tells whether a process belongs to the command of that run: calls
// of `agent rsh` by hand beside it are their users' affair.
func ofCommand(pid int, run string) bool {
	env, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(pid), "environ"))
	return err == nil && slices.ContainsFunc(bytes.Split(env, []byte{0}), func(kv []byte) bool {
		return string(kv) == envRun+"="+run
	})
}
