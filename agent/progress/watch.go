package progress

import (
	"bytes"
	"slices"
	"sync"
	"time"
)

// NoRank is the rank of a line that belongs to no known rank.
const NoRank = -1

// maxKept is how many bytes of the last matching line are kept.
const maxKept = 300

// Watch applies a Set to one attempt of a job.
type Watch struct {
	set   *Set
	ranks int // number of ranks that are known from the start

	mu     sync.Mutex
	states [][]state // by rule and, for rules by rank, by rank
	index  []map[int]int
	failed []Verdict // that Look has not returned yet; Reset keeps them
	owed   []bool    // by rule: it was broken at a Reset, and no line has counted since
	peaks  []numbers // by rule: the largest captured numbers of any rank; Reset keeps them
	paces  []pace    // by rule
	clock  *clock    // measures steps; nil: they are not measured
}

// state is the state of a rule, for the job or for one rank.
type state struct {
	rank    int       // NoRank: the job, or an unknown rank
	since   time.Time // time of the last line that counted, or of the start
	moved   bool      // a line has counted
	best    numbers   // the largest captured numbers
	fired   bool
	resumed bool // it was satisfied again after it fired, and Look has not returned that yet
	left    bool // the rank ended after it fired, and Look has not returned that yet
	over    bool // the rank has ended

	line []byte    // the last line that matched
	from int       // rank of that line
	at   time.Time // when it came; zero if no line has matched
}

// Begin starts to watch a job of ranks 0 to ranks-1. If ranks is 0 they are not known, and each is
// watched from its first matching line on.
func (s *Set) Begin(now time.Time, ranks int) *Watch {
	w := &Watch{set: s, ranks: ranks, peaks: make([]numbers, len(s.rules)), owed: make([]bool, len(s.rules))}
	w.Reset(now)
	return w
}

// Reset forgets all lines, as after a restart. A rule that is broken stays so until a line counts, and
// Look still returns lines that matched a fail-on rule before.
func (w *Watch) Reset(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, list := range w.states {
		w.owed[i] = w.owed[i] || w.set.rules[i].FailOn == "" && slices.ContainsFunc(list, func(s state) bool { return s.fired || s.resumed || s.left })
	}
	w.states, w.index = nil, nil
	w.paces = make([]pace, len(w.set.rules))
	w.clock.reset()
	for _, r := range w.set.rules {
		var list []state
		index := map[int]int{}
		switch {
		case r.FailOn != "":
			list = []state{{rank: NoRank}}
		case r.ByRank && w.ranks > 0:
			for rank := range w.ranks {
				index[rank] = rank
				list = append(list, state{rank: rank, since: now})
			}
		default:
			index[NoRank] = 0
			list = []state{{rank: NoRank, since: now}}
		}
		w.states, w.index = append(w.states, list), append(w.index, index)
	}
}

// Feed checks one line without its newline. It reports whether Look has something to return before
// Due, or whether Due is earlier now.
func (w *Watch) Feed(rank int, line []byte, now time.Time) (news bool) {
	line = plain(line)
	for i := range w.set.rules {
		var memory [4]int
		if match, ok := w.set.rules[i].find(line, memory[:0]); ok {
			news = w.matched(i, rank, line, match, now) || news
			w.step(i, rank, line, match, now)
		}
	}
	return news
}

// step measures the steps of a rank, if this rule does.
func (w *Watch) step(i, rank int, line []byte, match []int, now time.Time) {
	if w.clock == nil || w.clock.rule != i {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clock.stepped(&w.set.rules[i], rank, line, match, now)
}

// candidate reports whether a piece of output may contain a match.
func (w *Watch) candidate(p []byte) bool {
	if bytes.IndexByte(p, escape) >= 0 {
		return true
	}
	return slices.ContainsFunc(w.set.rules, func(r compiled) bool { return r.lit.in(p) })
}

// matched handles a line that matches a rule.
func (w *Watch) matched(i, rank int, line []byte, match []int, now time.Time) (news bool) {
	r := &w.set.rules[i]
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.ByRank && w.ranks > 0 && (rank < 0 || rank >= w.ranks) {
		return false // from a process without a rank
	}
	s := w.stateOf(i, rank, now)
	s.line, s.from, s.at = append(s.line[:0], line[:min(len(line), maxKept)]...), rank, now
	if r.FailOn != "" {
		if s.fired {
			return false
		}
		s.fired = true
		w.failed = append(w.failed, Verdict{Rule: r.Rule, Kind: Failed, Rank: rank, Line: string(s.line), From: rank})
		return true
	}
	if r.counts() > 0 {
		var scratch [4]float64
		found, any := numbersOf(scratch[:0], line, match, r.apart)
		if !any || s.best != nil && !found.exceeds(s.best) {
			return false
		}
		if w.peaks[i] == nil || found.exceeds(w.peaks[i]) {
			w.peaks[i] = append(w.peaks[i][:0], found...)
		}
		s.best = append(s.best[:0], found...)
		if len(found) == 1 {
			w.paces[i].note(found[0], r.totalOf(line, match), now)
		}
	}
	sooner := !s.moved && r.Within > 0 && r.first() > r.Within // Due is earlier now
	s.since, s.moved = now, true
	s.over = s.over && s.rank < 0 // a script may start another mpirun, with ranks of the same numbers
	if s.fired || w.owed[i] {
		s.fired, s.resumed, w.owed[i] = false, true, false
		return true
	}
	return sooner
}

// stateOf returns the state to which a rank's line belongs.
func (w *Watch) stateOf(i, rank int, now time.Time) *state {
	if !w.set.rules[i].ByRank {
		return &w.states[i][0]
	}
	at, known := w.index[i][rank]
	if !known {
		one := state{rank: rank, since: now}
		if old := &w.states[i][0]; old.rank == NoRank && old.at.IsZero() {
			one.fired, old.fired, old.over = old.fired, false, true // it stood for a job without output
		}
		at = len(w.states[i])
		w.index[i][rank] = at
		w.states[i] = append(w.states[i], one)
	}
	return &w.states[i][at]
}

// Ended records that a rank has ended, so that no more lines are expected from it. alone means that
// the job goes on without the rank. Ended reports whether Look may have something to return. It
// ignores NoRank, because other processes without a rank may still print.
func (w *Watch) Ended(rank int, alone bool) (news bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, r := range w.set.rules {
		at, known := w.index[i][rank]
		if rank < 0 || !r.ByRank || !known {
			continue
		}
		s := &w.states[i][at]
		s.over = true
		if s.fired && alone {
			s.fired, s.left, news = false, true, true
		}
	}
	return news
}

// Overdue returns the ranks for which Look would return that they break a rule.
func (w *Watch) Overdue(now time.Time) (ranks []int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, r := range w.set.rules {
		for j := range w.states[i] {
			s := &w.states[i][j]
			if limit := s.limit(r.Rule); s.rank >= 0 && limit > 0 && now.Sub(s.since) >= limit && !slices.Contains(ranks, s.rank) {
				ranks = append(ranks, s.rank)
			}
		}
	}
	return ranks
}

// Peak is the position that an attempt has reached by the numbers of a rule.
type Peak struct {
	Rule    Rule
	Numbers []float64 // compared from left to right; NaN for text that is no number; empty: none yet
	Text    string    // the numbers for people: "2, 1200"
}

// Peak returns the largest numbers that the first rule with numbers has captured since Begin. It
// returns false if no expect rule captures numbers.
func (w *Watch) Peak() (Peak, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, r := range w.set.rules {
		if r.Expect != "" && r.counts() > 0 {
			return Peak{Rule: r.Rule, Numbers: slices.Clone(w.peaks[i]), Text: w.peaks[i].text()}, true
		}
	}
	return Peak{}, false
}

// Peaks returns the largest numbers of every rule that has captured some since Begin.
func (w *Watch) Peaks() (all []Peak) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, r := range w.set.rules {
		if len(w.peaks[i]) > 0 {
			all = append(all, Peak{Rule: r.Rule, Numbers: slices.Clone(w.peaks[i]), Text: w.peaks[i].text()})
		}
	}
	return all
}

// Excuse restarts the clocks of all rules and keeps the last lines. Call it after a time in which
// output could not arrive.
func (w *Watch) Excuse(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.states {
		for j := range w.states[i] {
			w.states[i][j].since = now
		}
	}
	w.clock.reset()
}

// limit returns how long a state may remain unchanged; 0: forever.
func (s *state) limit(r Rule) time.Duration {
	switch {
	case s.over || s.fired || r.FailOn != "":
		return 0
	case s.moved:
		return r.Within
	}
	return r.first()
}

// Due returns the earliest time at which Look may return a new verdict without new lines. It
// returns false if there is none.
func (w *Watch) Due() (at time.Time, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, r := range w.set.rules {
		for j := range w.states[i] {
			s := &w.states[i][j]
			limit := s.limit(r.Rule)
			if limit == 0 {
				continue
			}
			if due := s.since.Add(limit); !ok || due.Before(at) {
				at, ok = due, true
			}
		}
	}
	return at, ok
}

// Look returns what has changed: rules that fired, and rules that are satisfied again. Ranks that
// break the same rule at the same time share a verdict. A rule by rank is satisfied again when no rank
// breaks it any more.
func (w *Watch) Look(now time.Time) (verdicts []Verdict) {
	w.mu.Lock()
	defer w.mu.Unlock()
	verdicts, w.failed = w.failed, nil
	for i, r := range w.set.rules {
		var fired *Verdict
		broken := false
		for j := range w.states[i] {
			s := &w.states[i][j]
			if limit := s.limit(r.Rule); limit > 0 && now.Sub(s.since) >= limit {
				s.fired, s.resumed = true, false
				fired = s.tell(fired, Verdict{Rule: r.Rule, Kind: s.kind(), After: limit, Quiet: now.Sub(s.since)}, now)
			}
			broken = broken || s.fired && !s.over
		}
		if fired != nil {
			verdicts = append(verdicts, *fired)
		}
		if r.FailOn == "" && !broken {
			verdicts = append(verdicts, w.satisfied(i, now)...)
		}
	}
	return verdicts
}

// satisfied returns the verdict that a rule is satisfied again, which no rank breaks any more. It
// returns nil if Look has returned that before. Ranks that have ended count only if no other rank
// printed a line. The caller holds mu.
func (w *Watch) satisfied(i int, now time.Time) []Verdict {
	var resumed, left *Verdict
	for j := range w.states[i] {
		s := &w.states[i][j]
		switch {
		case s.resumed:
			resumed = s.tell(resumed, Verdict{Rule: w.set.rules[i].Rule, Kind: Moves}, now)
		case s.left:
			left = s.tell(left, Verdict{Rule: w.set.rules[i].Rule, Kind: Left}, now)
		}
		s.resumed, s.left = false, false
	}
	if resumed == nil {
		resumed = left
	}
	if resumed == nil {
		return nil
	}
	return []Verdict{*resumed}
}

// kind says how a rule is broken.
func (s *state) kind() Kind {
	switch {
	case s.at.IsZero():
		return Absent
	case s.best != nil || !s.moved:
		return NotGrown
	}
	return Silent
}

// tell adds a state to the verdict of its rule, or starts that verdict.
func (s *state) tell(first *Verdict, v Verdict, now time.Time) *Verdict {
	if first != nil {
		first.More++
		return first
	}
	v.Rank, v.From, v.Line, v.Best = s.rank, s.from, string(s.line), s.best.text()
	if !s.at.IsZero() {
		v.Ago = now.Sub(s.at)
	}
	return &v
}
