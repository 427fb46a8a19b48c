package progress

import (
	"fmt"
	"time"
)

// Kind is what a verdict says.
type Kind int

// The kinds.
const (
	Absent   Kind = iota // no line has matched since the start
	Silent               // lines have matched, and then none did; the rule captures no number
	NotGrown             // no number has grown, perhaps for lack of lines
	Failed               // a line matched a fail-on rule
	Moves                // a rule that fired is satisfied again
)

// Verdict is one thing that is new about a rule.
type Verdict struct {
	Rule  Rule
	Kind  Kind
	Rank  int           // that is judged; NoRank: the job, or an unknown rank
	More  int           // ranks of which the same is true
	Line  string        // the last line that matched; "": none
	From  int           // its rank
	Ago   time.Duration // since it came
	Best  string        // the largest number that was captured
	After time.Duration // the time of the rule that has passed
}

// Words that a verdict begins with.
const (
	NoProgress = "no progress"
	FailedLine = "failed line"
	Again      = "progress again"
)

// Sentence is the verdict in words, on one line.
func (v Verdict) Sentence() string {
	switch v.Kind {
	case Failed:
		return fmt.Sprintf("%s: %s matched a line%s: %s", FailedLine, v.Rule.Name(), of(v.From), v.shown())
	case Moves:
		return fmt.Sprintf("%s%s: %s matched a line%s: %s", Again, v.whom(), v.Rule.Name(), of(v.From), v.shown())
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

// RankName is "rank 3" for the rank that is judged, or whose line it was; "" where
// that is not known.
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

// whom names the ranks that are judged, of a rule by rank.
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

// seconds writes 3.4 s, and 12 s from ten on.
func seconds(d time.Duration) string {
	if d >= 10*time.Second {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
