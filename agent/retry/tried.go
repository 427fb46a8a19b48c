package retry

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/musterhq/muster/exec/names"
)

// Tried is one attempt of a run, as reports show it.
type Tried struct {
	Attempt int     `json:"attempt"` // from 0, as in MUSTER_ATTEMPT
	Code    int     `json:"code"`
	Why     string  `json:"why,omitempty"`
	Worker  string  `json:"worker,omitempty"` // where its end began, if known
	Rank    string  `json:"rank,omitempty"`   // which process ended first: "rank 3", "ps 0"
	Words   string  `json:"words,omitempty"`  // the last lines of that process, if Muster carries its output
	Seconds float64 `json:"seconds"`
	Port    int     `json:"port"`    // the first port of its block
	Counted bool    `json:"counted"` // it used up a restart, or was the last
}

// Sizes in bytes, within a termination message: all earlier attempts together, and the first of
// them. The first has most room, because its failure may be the cause of the others.
const (
	maxEarlier  = 2000
	firstOfThem = 1200
	eachOfThem  = 300
)

// Earlier returns the part of a termination message about the failed attempts before the last one,
// for the controller to read, or "" if there are none. Each has a line of its own, followed by its
// last words. The text begins with a newline.
func Earlier(tried []Tried) string {
	var b strings.Builder
	for i, t := range tried[:max(len(tried)-1, 0)] {
		room := eachOfThem
		if i == 0 {
			room = firstOfThem
		}
		entry := fmt.Sprintf("\n%s%d (exit code %d): %s", names.EarlierAttempt, t.Attempt, t.Code, strings.Join(strings.Fields(t.Why), " "))
		for line := range strings.Lines(t.Words) {
			entry += "\n\t" + strings.TrimRight(line, "\n")
		}
		entry = Clip(entry, room)
		if b.Len()+len(entry) > maxEarlier {
			break
		}
		b.WriteString(entry)
	}
	return b.String()
}

// Clip returns the beginning of a text: at most that many bytes, and only whole characters.
func Clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "..."
}
