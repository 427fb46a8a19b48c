//go:build linux

package supervise

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/launch/report"
	"github.com/musterhq/muster/agent/progress"
)

// wrong is one current problem of the run, for `agent ready`.
type wrong struct{ key, sentence string }

// complain sets the current problem of the run under a key. An empty sentence removes it. `agent
// ready` reports all current problems.
func (s *Supervisor) complain(key, sentence string) {
	s.wrongs = slices.DeleteFunc(s.wrongs, func(w wrong) bool { return w.key == key })
	if sentence != "" {
		s.wrongs = append(s.wrongs, wrong{key, sentence})
	}
	var all []string
	for _, w := range s.wrongs {
		all = append(all, w.sentence)
	}
	s.trouble(strings.Join(all, "; "))
}

// onProgressDue judges the rules when one may have been broken for too long. Time in which output
// could not reach the launcher does not count.
func (s *Supervisor) onProgressDue(ctx context.Context, now time.Time) (changed bool) {
	if why := s.cannotHear(now); why != "" {
		s.excuse(why, now)
		return false
	}
	return s.onProgress(ctx, now)
}

// onProgressTold judges the rules because of a line. A launcher that was stopped may have read this line
// before those of other ranks, and before it handles that the rules were due.
func (s *Supervisor) onProgressTold(ctx context.Context, now time.Time) (changed bool) {
	if s.Progress.Late(now) {
		s.excuse(wasStopped, now)
	}
	return s.onProgress(ctx, now)
}

// excuse restarts the clocks of the rules, because lines may not have arrived.
func (s *Supervisor) excuse(why string, now time.Time) {
	if s.Progress.Excuse(now) {
		s.voice.Say("progress rules are paused: %s", why)
	}
}

// wasStopped says why lines may not have arrived, although the output is connected.
const wasStopped = "the launcher itself was stopped"

// cannotHear says why lines of the job may not have arrived; "" if they have.
func (s *Supervisor) cannotHear(now time.Time) string {
	switch {
	case s.Progress.Late(now):
		return wasStopped
	case s.Progress.Unread(now):
		return "the job's output is not read"
	case !s.Group:
		return "" // the ranks' lines come through the command's own connections
	}
	for name, st := range s.links.Working() {
		if st.Err == nil && st.State.Linked && !st.State.Connected && !st.State.Parked {
			return "the link to worker " + name + " is down"
		}
	}
	return ""
}

// onProgress judges the rules, or first asks which ranks still run. It returns true if that changed how
// the command is to end.
func (s *Supervisor) onProgress(ctx context.Context, now time.Time) (changed bool) {
	if s.Living.asks(ctx, s.Progress.Overdue(now)) {
		return false
	}
	return s.judge(now)
}

// judge prints new verdicts of the rules, and ends the run if a rule demands it. It returns true if
// that changed how the command is to end.
func (s *Supervisor) judge(now time.Time) (changed bool) {
	if s.ending.phase.stops() {
		return false // it ends anyway
	}
	for _, v := range s.Progress.Look(now) {
		changed = s.onVerdict(v) || changed
	}
	return changed
}

func (s *Supervisor) onVerdict(v progress.Verdict) (changed bool) {
	why, key := v.Sentence(), fmt.Sprint(v.Rule) // several rules may have one name
	if v.Satisfied() {
		s.voice.Say("%s", why)
		s.complain(key, "")
		s.recordMoving(key, why)
		return false
	}
	s.voice.Warn("%s", why)
	s.recordStall(key, why, v.Quiet)
	if v.Kind == progress.Absent {
		s.voice.Hint("if the program buffers its output, set PYTHONUNBUFFERED=1 or use stdbuf -oL; --first-within allows for a slow start")
	}
	s.complain(key, why)
	s.Stalls = append(s.Stalls, report.Stall{Rule: v.Rule.Name(), Why: why, Rank: v.RankName(), Line: v.Line, Stopped: v.Rule.Stop && s.Hung == ""})
	if !v.Rule.Stop || s.Hung != "" {
		return false
	}
	s.voice.Warn("stopping %s (--%s=%s), killing it after %s", s.Name, progress.FlagAction, config.HangStop, phrase.Seconds(s.cfg.Grace))
	rank := v.RankName()
	s.Hung, s.Stalled, s.Guilty = s.Name+" was stopped: "+why, &rank, v.Rank >= 0 || v.Kind == progress.Failed && v.From >= 0
	return s.ending.onHang(s.cfg.Grace)
}
