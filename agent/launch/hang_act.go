//go:build linux

package launch

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/agent/names"
	"github.com/musterhq/muster/agent/stacks"
)

// heard notes that output passes on its way to its writer, which may be nil.
type heard struct {
	watch *hangWatch
	to    io.WriteCloser
}

func (h heard) Write(p []byte) (int, error) {
	h.watch.wrote()
	if h.to == nil {
		return len(p), nil
	}
	return h.to.Write(p)
}

func (h heard) Close() error {
	if h.to == nil {
		return nil
	}
	return h.to.Close()
}

// hear lets the watch know of what is written to w. A nil watch leaves w alone.
func (w *hangWatch) hear(to io.WriteCloser) io.WriteCloser {
	if w == nil {
		return to
	}
	return heard{w, to}
}

// aHang is the key of a hang among what is wrong with a run.
const aHang = "hang"

// onHang says what the watch over the run has seen, and ends the run where the
// user wants that: true when it changed how the command is to end.
func (s *supervisor) onHang(h hang) (changed bool) {
	switch {
	case s.ending.told != 0 || s.ending.lost || s.ending.ill:
		return false // it ends anyway
	case h.over:
		s.voice.Say("%s goes on: something moves again", s.name)
		s.complain(aHang, "")
		return false
	case len(h.unknown) > 0:
		s.voice.Say("nothing was printed for %s; whether %s hangs cannot be told: %s", phrase.Seconds(s.cfg.HangAfter), s.name, unasked(h.unknown))
		return false
	}
	if h.polls {
		s.onPolls(h)
		return false
	}
	s.hangs++
	list := sitters(h.scenes, s.hang.labelOf)
	why := fmt.Sprintf("%s seems to hang: for %s nothing was printed, and no rank has used a processor", s.name, phrase.Seconds(s.cfg.HangAfter))
	s.voice.Warn("%s", why)
	verdict, said := s.tellStacks(h, "hang")
	complaint := append([]string{why}, hangLines(list)...)
	if verdict != "" {
		complaint = slices.Insert(complaint, 1, verdict)
	}
	s.complain(aHang, strings.Join(complaint, "; "))
	if !said {
		s.tellPlaces(list, true, h.stacks)
	}
	if !s.cfg.HangStops() {
		return false
	}
	s.voice.Warn("stopping %s (--hang-action=%s), %s to go before it is killed", s.name, config.HangStop, phrase.Seconds(s.cfg.ShortGrace()))
	s.hung = fmt.Sprintf("%s hung for %s and was stopped", s.name, phrase.Seconds(s.cfg.HangAfter))
	return s.ending.onHang(s.cfg.ShortGrace())
}

// onPolls says that the run may hang. Nothing else follows: ranks use processors, and what
// they do can only be guessed.
func (s *supervisor) onPolls(h hang) {
	why := fmt.Sprintf("%s may hang: for %s nothing was printed, read or written, and %s", s.name, phrase.Seconds(s.cfg.HangAfter), stacks.Polling(h.stacks.ranks, h.polling))
	s.voice.Warn("%s", why)
	v := stacks.OfHang(h.stacks.ranks)
	for _, line := range h.stacks.lines(v) {
		s.voice.Warn("%s", line)
	}
	if v.Sentence != "" {
		why += "; " + v.Sentence
	}
	s.blames = append(s.blames, Blame{When: "suspicion", Sentence: why})
}

// tellPlaces says in which calls processes sit, and how to see more where that is wanted.
// at is nil if no stacks were asked for.
func (s *supervisor) tellPlaces(list []sitter, hint bool, at *standingAt) {
	for _, line := range hangLines(list) {
		s.voice.Warn("  %s", line)
	}
	if hint && len(list) > 0 {
		s.voice.Hint(s.stackHint(places(list)[0][0], at))
	}
}

// stackHint says how to see where a process is in its own code.
func (s *supervisor) stackHint(who sitter, at *standingAt) string {
	switch rank := at.of(who); {
	case rank.Record.OnRequest && s.cfg.Job != "" && !s.cfg.IsFake():
		return "its stack: agent stacks " + s.cfg.Job
	case rank.Record.OnRequest:
		return "its stack: agent stacks"
	case rank.Record.Why != "":
		return fmt.Sprintf("no stack of %s: %s", who.who, rank.Why())
	}
	stack := stackOf(who)
	w := s.links.standings()[who.worker].worker
	switch {
	case who.worker == "" || s.cfg.IsFake():
		return "its stack: " + stack
	case w.Container != "":
		return fmt.Sprintf("its stack: kubectl exec -n %s %s -c %s -- %s", s.cfg.Namespace, who.worker, w.Container, stack)
	}
	return fmt.Sprintf("its stack: kubectl exec -n %s %s -- %s", s.cfg.Namespace, who.worker, stack)
}

// unasked names one of the workers that could not be asked.
func unasked(unknown map[string]error) string {
	name := slices.Min(slices.Collect(maps.Keys(unknown)))
	text := name + ": " + phrase.OneLine(unknown[name])
	if more := len(unknown) - 1; more > 0 {
		text += fmt.Sprintf(" (and %s)", phrase.Count(more, "more worker"))
	}
	return text
}

// watchHang returns the watch over an attempt. With --hang-after=0 the watch only passes
// output on, and looks for no hang.
func (r *runner) watchHang() *hangWatch {
	w := newHangWatch(r.cfg.HangAfter, r.links.askers)
	w.wary, w.unstacked = !r.cfg.Given("hang-after"), r.cfg.Stacks == config.StacksNever
	return w
}

// over has the watch look at the command in the launcher, too.
func (w *hangWatch) over(c *command) {
	if w != nil {
		w.own = c.scene
	}
}

// noteHang is for the verdict of an attempt that we ended because it hung, or broke
// a progress rule.
func (r *runner) noteHang(a *attempt) {
	s := a.watcher
	r.report.Hangs += s.hangs
	for _, one := range s.blames {
		one.Attempt = a.number
		r.report.Blames = append(r.report.Blames, one)
	}
	for _, one := range s.stalls {
		one.Attempt = a.number
		r.report.Stalls = append(r.report.Stalls, one)
	}
	if s.hung != "" && s.ending.told == 0 {
		a.evidence.Code, a.verdict = names.ExitHung, verdict.Verdict{Code: names.ExitHung, Why: s.hung}
	}
}

// onHang says whether a hang that is to be ended changed the schedule.
func (e *ending) onHang(grace time.Duration) (changed bool) {
	if e.ill || e.lost || e.told != 0 {
		return false
	}
	e.ill = true
	e.steps = []step{{0, syscall.SIGTERM}, {grace, syscall.SIGKILL}}
	return true
}
