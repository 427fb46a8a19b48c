//go:build linux

package reap

import (
	"bytes"
	"context"
	"slices"
	"syscall"
	"time"
)

// Ask is the first part of a Drain. It sends sig to the savers (Savers) of the first scan, and
// returns when they have ended, or when the last part of grace begins. No other process gets a
// signal. Ask is for a worker whose ranks have their launcher elsewhere: that launcher ends all
// ranks when it is told to end, or when a rank has died. asked is called once with the savers,
// before they get the signal. Report.Others counts the ranks that live at the end.
func (r *Reaper) Ask(ctx context.Context, find func() ([]Proc, error), sig syscall.Signal, grace time.Duration, asked func(ranks []Proc)) (Report, error) {
	s := newStop(r, find, grace)
	err := s.savers(ctx, sig, time.Now().Add(grace-LastPart(grace)), asked)
	if alive, serr := s.scan(); serr == nil {
		s.report.Others = len(Apart(Ranks(alive, sig)))
	}
	s.report.Ranks = s.watched.all
	return s.report, err
}

// savers sends sig to the savers of the first scan, and waits only for them.
func (s *stop) savers(ctx context.Context, sig syscall.Signal, until time.Time, asked func(ranks []Proc)) error {
	told := false
	err := s.ranks(ctx, sig, until, func(alive []Proc) []Proc {
		savers := Savers(alive, sig)
		s.watched.watch(savers)
		told = true
		asked(savers)
		return savers
	})
	if !told {
		asked(nil)
	}
	return err
}

// Savers returns the processes of Ranks that handle sig, and if a script handles it, also what it
// runs. The other ranks would die of sig or ignore it, so they have nothing to save.
func Savers(procs []Proc, sig syscall.Signal) []Proc {
	var buf bytes.Buffer
	answers, argv := func(p Proc) answer { return answerOf(p, sig, &buf) }, func(p Proc) []string { return argvOf(p, &buf) }
	all := Ranks(procs, sig)
	parent := map[int]Proc{}
	for _, p := range all {
		parent[p.PID] = p
	}
	// chain returns p and its ancestors among all, without gaps.
	chain := func(p Proc) (list []Proc) {
		for ok := true; ok && len(list) <= len(all); p, ok = parent[p.PPID] {
			list = append(list, p)
		}
		return list
	}
	saves := func(p Proc) bool {
		switch kind := kindOf(p, argv); {
		case answers(p) != handles || kind == launcher:
			return false
		case kind == shell && sig == syscall.SIGINT: // shells catch INT while they wait for a command
			return catches(p, syscall.SIGTERM, &buf)
		case kind == shell:
			return catches(p, sig, &buf)
		}
		return true
	}
	saving := map[int]bool{} // by pid: the topmost process of a chain with a saver
	for _, p := range all {
		if list := chain(p); slices.ContainsFunc(list, saves) {
			saving[list[len(list)-1].PID] = true
		}
	}
	return slices.DeleteFunc(all, func(p Proc) bool {
		list := chain(p)
		return !saving[list[len(list)-1].PID] || kindOf(p, argv) == launcher
	})
}
