package event

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// briefWord begins the line of a Brief.
const briefWord = "events from "

// briefLeft begins the last part of a line that leaves out attempts.
const briefLeft = "attempts left out"

// mostBrief is the number of events from which on a Brief forgets its oldest attempts.
const mostBrief = 64

// Brief keeps the few events of a run that show when its attempts began and ended. The launcher leaves
// them in its termination message for the controller.
type Brief struct {
	from    time.Time // start of the launcher
	all     []Event   // without the details
	omitted int       // attempts that were forgotten
}

// Take takes the next event of the run.
func (b *Brief) Take(e Event) {
	if b.from.IsZero() { // a long record has lost its beginning
		b.from = e.Time
	}
	switch e.Kind {
	case RunStarted:
		*b = Brief{from: e.Time}
		return
	case Restart, AttemptEnded:
	case AllLinked, CheckStarted, Checked, CommandStarted, FirstLine: // the first of an attempt
		for i := len(b.all) - 1; i >= 0 && b.all[i].Attempt == e.Attempt; i-- {
			if b.all[i].Kind == e.Kind {
				return
			}
		}
	default:
		return
	}
	if len(b.all) == 0 {
		b.omitted = e.Attempt
	}
	b.all = append(b.all, Event{Time: e.Time, Kind: e.Kind, Attempt: e.Attempt, Rank: NoRank, Cause: e.Cause, Count: e.Count})
	for len(b.all) > mostBrief && b.fold() {
	}
}

// fold forgets the oldest attempt. It returns false if only the last attempt is left.
func (b *Brief) fold() bool {
	i := 0
	for i < len(b.all) && b.all[i].Attempt == b.all[0].Attempt {
		i++
	}
	if i == len(b.all) {
		return false
	}
	b.omitted, b.all = b.omitted+b.all[i].Attempt-b.all[0].Attempt, b.all[i:]
	return true
}

// Line returns the events as one line of at most that many bytes, which ParseBrief reads. It leaves out the
// oldest attempts that do not fit. It returns "" if there are no events, or if the last attempt does not fit.
func (b *Brief) Line(most int) string {
	if b.from.IsZero() {
		return ""
	}
	rest := *b
	for len(rest.all) > 0 {
		if line := rest.line(); len(line) <= most {
			return line
		}
		if !rest.fold() {
			break
		}
	}
	return ""
}

func (b *Brief) line() string {
	var parts []string
	for _, e := range b.all {
		part := fmt.Sprintf("%s %.1f", e.Kind, max(0, e.Time.Sub(b.from).Seconds()))
		if e.Kind == AttemptEnded {
			part += fmt.Sprintf(" code %d", e.Count)
			if e.Cause != "" {
				part += " " + e.Cause
			}
		}
		parts = append(parts, part)
	}
	if b.omitted > 0 {
		parts = append(parts, fmt.Sprintf("%s %d", briefLeft, b.omitted))
	}
	return briefWord + b.from.UTC().Format(time.RFC3339) + ": " + strings.Join(parts, ", ")
}

// mostBriefSeconds bounds the times that ParseBrief accepts: 100 years.
const mostBriefSeconds = 100 * 365 * 24 * 3600

// ParseBrief reads a line of a Brief. omitted is the number of the oldest attempts that the line leaves out.
// It returns false for other text. Kinds of a later release are left out.
func ParseBrief(line string) (all []Event, omitted int, ok bool) {
	line, ok = strings.CutPrefix(line, briefWord)
	stamp, list, cut := strings.Cut(line, ": ")
	from, err := time.Parse(time.RFC3339, stamp)
	if !ok || !cut || err != nil {
		return nil, 0, false
	}
	if rest, left, cut := strings.Cut(list, ", "+briefLeft+" "); cut {
		if omitted, err = strconv.Atoi(left); err != nil || omitted < 0 || omitted > 1<<30 {
			return nil, 0, false
		}
		list = rest
	}
	attempt, ended := omitted, false
	for part := range strings.SplitSeq(list, ", ") {
		e, ok := parseBriefPart(part, from)
		if !ok {
			return nil, 0, false
		}
		if ended && (e.Kind == Restart || e.Kind == CommandStarted) {
			attempt, ended = attempt+1, false
		}
		ended = ended || e.Kind == AttemptEnded
		e.Attempt = attempt
		if e.Kind.Known() {
			all = append(all, e)
		}
	}
	return all, omitted, true
}

// parseBriefPart reads one event: its kind, its seconds after a time and, for the end of an attempt, its exit
// code and its cause.
func parseBriefPart(part string, from time.Time) (Event, bool) {
	words := strings.Split(part, " ")
	if len(words) < 2 || words[0] == "" {
		return Event{}, false
	}
	seconds, err := strconv.ParseFloat(words[1], 64)
	if err != nil || !(seconds >= 0 && seconds <= mostBriefSeconds) {
		return Event{}, false
	}
	e := Event{Time: from.Add(time.Duration(seconds * float64(time.Second))), Kind: Kind(words[0]), Rank: NoRank}
	if len(words) > 3 && words[2] == "code" {
		if e.Count, err = strconv.Atoi(words[3]); err != nil || e.Count < 0 || e.Count > 255 {
			return Event{}, false
		}
	}
	if len(words) > 4 {
		e.Cause = words[4]
	}
	return e, true
}
