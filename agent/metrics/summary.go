package metrics

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Summary returns a table for people with a line for each series that has a value, or "" if none
// has. It shows the largest and the smallest finite value, because whether larger is better differs
// between a loss and a rate.
func Summary(series []Series) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "metric\tlast\tmost\tleast\tcount\trank")
	some := false
	for _, s := range series {
		if s.Count == 0 {
			continue
		}
		some = true
		most, least := s.ends()
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\n", s.Name, text(s.Last), most, least, s.Count, s.rank())
	}
	_ = w.Flush() // cannot fail: into memory
	if !some {
		return ""
	}
	return b.String()
}

func (s Series) ends() (most, least string) {
	if s.Finite == 0 {
		return "-", "-"
	}
	return text(s.Max), text(s.Min)
}

func (s Series) rank() string {
	if s.Rank < 0 {
		return "-"
	}
	return strconv.Itoa(s.Rank)
}

// Sentence returns one line of the summary for a log, without the name.
func (s Series) Sentence() string {
	if s.Count == 0 {
		return s.missing()
	}
	values := "1 value"
	if s.Count > 1 {
		values = strconv.Itoa(s.Count) + " values"
	}
	if s.Rank >= 0 {
		values += " of rank " + s.rank()
	}
	most, least := s.ends()
	return fmt.Sprintf("metric %s: last %s, most %s, least %s; %s", s.Name, text(s.Last), most, least, values)
}
