package retry

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/musterhq/muster/exec/names"
)

// Tried is one attempt of a run, as reports have it.
type Tried struct {
	Attempt int     `json:"attempt"` // from 0, as in MUSTER_ATTEMPT
	Code    int     `json:"code"`
	Why     string  `json:"why,omitempty"`
	Worker  string  `json:"worker,omitempty"` // where its end began, as far as that is known
	Rank    string  `json:"rank,omitempty"`   // and with which process: "rank 3", "ps 0"
	Words   string  `json:"words,omitempty"`  // the last lines of that process, where we carry its output
	Seconds float64 `json:"seconds"`
	Port    int     `json:"port"`    // the first of its block
	Counted bool    `json:"counted"` // it used up a restart, or was the last
}

// Bytes of a termination message for the attempts before the last one, and for each. The
// first of them has most room: what failed first may be the cause of the rest.
const (
	maxEarlier  = 2000
	firstOfThem = 1200
	eachOfThem  = 300
)

// Earlier is what a termination message tells of the failed attempts before the last one, each
// on a line of its own with its last words below, for the controller to read; "" if there are
// none. It begins with the end of a line.
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

// Clip keeps the first bytes of a text, at most so many, and whole characters.
func Clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "..."
}
