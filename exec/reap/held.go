//go:build linux

package reap

import (
	"bytes"
	"syscall"
	"time"
)

// held returns the launchers and daemons of alive that a Drain does not ask yet, and what
// they descend from: helpers whose rank has ended may still save, and a daemon that is
// asked kills them. Helpers that ignore TERM, or were started since the stop began, do not
// count; from the last part of the grace on nobody is held.
func (s *stop) held(alive []Proc) map[identity]bool {
	if !s.ordered || !time.Now().Before(s.sparing) {
		return nil
	}
	var buf bytes.Buffer
	argv := func(p Proc) []string { return argvOf(p, &buf) }
	parent := make(map[int]Proc, len(alive))
	for _, p := range alive {
		parent[p.PID] = p
	}
	held := map[identity]bool{}
	for _, p := range alive {
		if kindOf(p, argv) != launcher {
			continue
		}
		for ok := true; ok && !held[p.identity()]; p, ok = parent[p.PPID] {
			held[p.identity()] = true
		}
	}
	if len(held) == 0 {
		return nil
	}
	for _, p := range alive {
		if !held[p.identity()] && !remote[p.Comm] && !s.spared(p) && answerOf(p, syscall.SIGTERM, &buf) != ignores {
			return held
		}
	}
	return nil
}
