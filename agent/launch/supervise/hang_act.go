//go:build linux

package supervise

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/hang"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/launch/report"
	"github.com/musterhq/muster/agent/stacks"
)

// aHang is the key of a hang among the current problems of a run.
const aHang = "hang"

// onHang prints what the hang watch has found, and ends the run if the user wants that. It returns
// true if that changed how the command is to end.
func (s *Supervisor) onHang(h hang.Finding) (changed bool) {
	switch {
	case s.ending.phase.ends():
		return false // it ends anyway
	case h.Over:
		s.voice.Say("%s makes progress again", s.Name)
		s.complain(aHang, "")
		s.recordMoving(aHang, "output or CPU use")
		return false
	case len(h.Unknown) > 0:
		s.voice.Say("no output for %s; cannot tell whether %s hangs: %s", phrase.Seconds(s.cfg.HangAfter), s.Name, hang.Unasked(h.Unknown))
		return false
	}
	if h.Polls {
		s.onPolls(h)
		return false
	}
	s.Hangs++
	s.recordStall(aHang, fmt.Sprintf("no output and no CPU use for %s", phrase.Seconds(s.cfg.HangAfter)), time.Since(h.Since))
	list := hang.Sitters(h.Scenes, s.Hang.LabelOf)
	why := fmt.Sprintf("%s seems to hang: for %s nothing was printed and no rank used a processor", s.Name, phrase.Seconds(s.cfg.HangAfter))
	s.voice.Warn("%s", why)
	verdict, said := s.tellStacks(h, "hang")
	complaint := append([]string{why}, hang.Lines(list)...)
	if verdict != "" {
		complaint = slices.Insert(complaint, 1, verdict)
	}
	s.complain(aHang, strings.Join(complaint, "; "))
	if !said {
		s.tellPlaces(list, true, h.Stacks)
	}
	if !s.cfg.HangStops() {
		return false
	}
	s.voice.Warn("stopping %s (--hang-action=%s), killing it after %s", s.Name, config.HangStop, phrase.Seconds(s.cfg.ShortGrace()))
	s.Hung = fmt.Sprintf("%s hung for %s and was stopped", s.Name, phrase.Seconds(s.cfg.HangAfter))
	return s.ending.onHang(s.cfg.ShortGrace())
}

// onPolls prints that the run may hang, and does nothing else: the ranks use processors, so a hang
// is only a guess.
func (s *Supervisor) onPolls(h hang.Finding) {
	why := fmt.Sprintf("%s may hang: for %s nothing was printed, read or written, and %s", s.Name, phrase.Seconds(s.cfg.HangAfter), stacks.Polling(h.Stacks.Ranks, h.Polling))
	s.voice.Warn("%s", why)
	v := stacks.OfHang(h.Stacks.Ranks)
	for _, line := range h.Stacks.Lines(v) {
		s.voice.Warn("%s", line)
	}
	if v.Sentence != "" {
		why += "; " + v.Sentence
	}
	s.Blames = append(s.Blames, report.Blame{When: "suspicion", Sentence: why})
}

// tellPlaces prints in which calls processes sit. hint adds how to see more. at is nil if no stacks
// were taken.
func (s *Supervisor) tellPlaces(list []hang.Sitter, hint bool, at *hang.Standing) {
	for _, line := range hang.Lines(list) {
		s.voice.Warn("  %s", line)
	}
	if hint && len(list) > 0 {
		s.voice.Hint(s.stackHint(hang.Places(list)[0][0], at))
	}
}

// stackHint says how to see where a process is in its own code.
func (s *Supervisor) stackHint(who hang.Sitter, at *hang.Standing) string {
	switch rank := at.Of(who); {
	case rank.Record.OnRequest:
		return "its stack: " + s.cfg.AskStacks()
	case rank.Record.Why != "":
		return fmt.Sprintf("no stack of %s: %s", who.Who, rank.Why())
	}
	stack := hang.StackOf(who)
	if who.Worker != "" {
		stack = s.byHand(who.Worker, stack)
	}
	return "its stack: " + stack
}

// tellStacks prints which rank the others wait for, and where all stand, when the run has come to a
// stop. It reports whether there was anything to print.
func (s *Supervisor) tellStacks(h hang.Finding, when string) (verdict string, said bool) {
	if h.Stacks == nil {
		return "", false
	}
	v := stacks.OfHang(h.Stacks.Ranks)
	if v.Sentence != "" {
		s.Blames = append(s.Blames, report.Blame{When: when, Sentence: v.Sentence})
	}
	if !h.Stacks.Told() {
		if v.Sentence != "" {
			s.voice.Warn("%s", v.Sentence)
		}
		for _, line := range h.Stacks.Beside() {
			s.voice.Warn("%s", line)
		}
		return v.Sentence, false
	}
	for _, line := range h.Stacks.Lines(v) {
		s.voice.Warn("%s", line)
	}
	return v.Sentence, true
}
