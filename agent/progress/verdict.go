package progress

import (
	"fmt"
	"strings"
	"time"
)

// Kind is the kind of a verdict.
type Kind int

// Kinds of verdicts.
const (
	Absent   Kind = iota // no line has matched since the start
	Silent               // lines have matched, but none recently; the rule captures no number
	NotGrown             // no number has grown, possibly for lack of lines
	Failed               // a line matched a fail-on rule
	Moves                // a rule that fired is satisfied again
	Left                 // the same, but only because the ranks that broke the rule have ended
)

// Verdict is one change in the state of a rule.
type Verdict struct {
	Rule  Rule
	Kind  Kind
	Rank  int           // the rank; NoRank: the job, or an unknown rank
	More  int           // further ranks with the same verdict
	Line  string        // the last line that matched; "": none
	From  int           // rank of that line
	Ago   time.Duration // time since that line
	Best  string        // the largest captured number
	After time.Duration // the time limit that has passed
	Quiet time.Duration // time without progress, from the last line that counted; 0: the rule needs none
}

// Satisfied reports whether the rule is satisfied again after it fired.
func (v Verdict) Satisfied() bool { return v.Kind == Moves || v.Kind == Left }

// Words at the start of a verdict.
const (
	NoProgress = "no progress"
	FailedLine = "failed line"
	Again      = "progress again"
)

// Sentence returns the verdict in words, on one line.
func (v Verdict) Sentence() string {
	switch v.Kind {
	case Failed:
		return fmt.Sprintf("%s: %s matched a line%s: %s", FailedLine, v.Rule.Name(), of(v.From), v.shown())
	case Moves:
		return fmt.Sprintf("%s%s: %s matched a line%s: %s", Again, v.whom(), v.Rule.Name(), of(v.From), v.shown())
	case Left:
		has := "has"
		if v.More > 0 {
			has = "have"
		}
		return fmt.Sprintf("%s: %s %s ended; %s holds for the others", Again, strings.TrimPrefix(v.whom(), " on "), has, v.Rule.Name())
	}
	head, last := NoProgress+v.whom()+": ", fmt.Sprintf("; the last matching line (%s%s ago): %s", by(v.From), seconds(v.Ago), v.shown())
	switch {
	case v.Kind == Absent:
		return head + fmt.Sprintf("no line has matched %s in the first %s", v.Rule.Name(), seconds(v.After))
	case v.Kind == Silent:
		return head + fmt.Sprintf("no line has matched %s for %s", v.Rule.Name(), seconds(v.After)) + last
	case v.Best == "":
		return head + fmt.Sprintf("%s has captured no number in the first %s", v.Rule.Name(), seconds(v.After)) + last
	}
	return head + fmt.Sprintf("the number of %s has not grown beyond %s for %s", v.Rule.Name(), v.Best, seconds(v.After)) + last
}

// RankName returns "rank 3" for the rank of the verdict or of its line, or "" if that is not known.
func (v Verdict) RankName() string {
	rank := v.Rank
	if rank < 0 && v.Line != "" {
		rank = v.From
	}
	if rank < 0 {
		return ""
	}
	return fmt.Sprintf("rank %d", rank)
}

// whom names the ranks of a rule by rank.
func (v Verdict) whom() string {
	text := ""
	if v.Rule.ByRank && v.Rank >= 0 {
		text = fmt.Sprintf(" on rank %d", v.Rank)
	}
	switch {
	case v.More == 1:
		text += " and 1 more rank"
	case v.More > 1:
		text += fmt.Sprintf(" and %d more ranks", v.More)
	}
	return text
}

func of(rank int) string {
	if rank < 0 {
		return ""
	}
	return fmt.Sprintf(" of rank %d", rank)
}

func by(rank int) string {
	if rank < 0 {
		return ""
	}
	return fmt.Sprintf("rank %d, ", rank)
}

func (v Verdict) shown() string { return visible(v.Line, 200) }

// seconds formats durations as 3.4 s, and from ten seconds on as 12 s.
func seconds(d time.Duration) string {
	if d >= 10*time.Second {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
