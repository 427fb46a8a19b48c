package goodput

import (
	"fmt"
	"strconv"
	"strings"
)

// word begins a line about goodput.
const word = "goodput "

// Line returns the account as one line that Parse reads: the ratio, and seconds by class.
func (a Account) Line() string {
	var parts []string
	for _, about := range Table() {
		if text := strconv.FormatFloat(a[about.Class], 'f', 1, 64); text != "0.0" {
			parts = append(parts, fmt.Sprintf("%s %s s", about.Class, text))
		}
	}
	return word + a.Percent() + ": " + strings.Join(parts, ", ")
}

// mostSeconds is the longest time of a class that Parse accepts: 10,000 workers for 3,000 years.
const mostSeconds = 1e15

// Parse reads a line of Line. It returns false for other text. Classes of a later release are Unknown.
func Parse(line string) (Account, bool) {
	rest, ok := strings.CutPrefix(line, word)
	if !ok {
		return nil, false
	}
	_, list, ok := strings.Cut(rest, ": ")
	if !ok {
		return nil, false
	}
	a := Account{}
	for part := range strings.SplitSeq(list, ", ") {
		fields := strings.Fields(part)
		if len(fields) != 3 || fields[2] != "s" {
			return nil, false
		}
		seconds, err := strconv.ParseFloat(fields[1], 64)
		if err != nil || !(seconds >= 0 && seconds <= mostSeconds) {
			return nil, false
		}
		class := Class(fields[0])
		if !class.known() {
			class = Unknown
		}
		a[class] += seconds
	}
	return a, true
}

// Brief returns the ratio for the last line of a run, or "" if it is unknown. It adds how much of the
// time is unknown.
func (a Account) Brief() string {
	if _, ok := a.Ratio(); !ok {
		return ""
	}
	text := word + a.Percent()
	if share := a[Unknown] / a.Total(); share >= 0.01 {
		text += fmt.Sprintf(" (%.0f%% of the time is unknown)", 100*share)
	}
	return text
}

// leastShare is the share of the time below which Text leaves out a class.
const leastShare = 0.001

// Text returns the ratio, and the share of each class in the time of all workers, as one line. It
// returns "" if there is no time.
func (a Account) Text() string {
	total := a.Total()
	if total <= 0 {
		return ""
	}
	var counted, others []string
	for _, about := range Table() {
		share := a[about.Class] / total
		if share < leastShare {
			continue
		}
		text := fmt.Sprintf("%s %.1f%%", about.Class, 100*share)
		if about.Counted {
			counted = append(counted, text)
		} else {
			others = append(others, text)
		}
	}
	text := word + a.Percent() + ": " + strings.Join(counted, ", ")
	if len(others) > 0 {
		text = strings.TrimSuffix(text, ": ") + "; not counted: " + strings.Join(others, ", ")
	}
	return text
}
