//go:build linux

package reap

import (
	"bytes"
	"slices"
	"syscall"
	"time"
)

// launcherTime is how long launchers and daemons may sleep when they were asked and no other process
// is left. torchrun waits for the ones on other workers in the meantime, and handles no signal. Time
// in which one of them works or waits for a processor or a disk does not count, so on a busy machine
// all can end by themselves.
const launcherTime = 5 * time.Second

// launchersOf returns the launchers and daemons of alive (true), and their ancestors (false).
func launchersOf(alive []Proc) map[identity]bool {
	var buf bytes.Buffer
	argv := func(p Proc) []string { return argvOf(p, &buf) }
	parent := make(map[int]Proc, len(alive))
	for _, p := range alive {
		parent[p.PID] = p
	}
	found := map[identity]bool{}
	for _, p := range alive {
		if kindOf(p, argv) != launcher {
			continue
		}
		found[p.identity()] = true
		for p, ok := parent[p.PPID]; ok; p, ok = parent[p.PPID] {
			if _, known := found[p.identity()]; known {
				break
			}
			found[p.identity()] = false
		}
	}
	return found
}

// held returns the launchers and daemons of alive that a Drain does not ask yet, and their
// ancestors. Helpers of a rank that has ended may still save, and a daemon kills them when it is
// asked. Helpers that ignore TERM, or were started after the stop began, do not count. In the last
// part of the grace nothing is held.
func (s *stop) held(alive []Proc) map[identity]bool {
	if !s.ordered || !time.Now().Before(s.sparing) {
		return nil
	}
	held := launchersOf(alive)
	if len(held) == 0 {
		return nil
	}
	var buf bytes.Buffer
	for _, p := range alive {
		if _, is := held[p.identity()]; !is && !slices.Contains(remote, p.Comm) && !s.spared(p) && answerOf(p, syscall.SIGTERM, &buf) != ignores {
			return held
		}
	}
	return nil
}

// overdue returns the launchers and daemons that were left alone, with their ancestors, and have
// slept for launcherTime since they were asked: they have nothing to save.
func (s *stop) overdue(alive []Proc) map[identity]bool {
	if !s.ordered {
		return nil
	}
	if slices.ContainsFunc(alive, func(p Proc) bool { return !s.asked[p.identity()] }) {
		s.alone = time.Time{}
		return nil
	}
	launchers := launchersOf(alive)
	if len(launchers) < len(alive) {
		s.alone = time.Time{}
		return nil
	}
	now := time.Now()
	if s.alone.IsZero() {
		s.slept = 0
	} else if !slices.ContainsFunc(alive, Proc.busy) {
		s.slept += now.Sub(s.alone)
	}
	s.alone = now
	if s.slept < launcherTime {
		return nil
	}
	return launchers
}
