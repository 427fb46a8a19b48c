package retry

import (
	"fmt"
	"math"
	"time"
)

// Measure is what the progress of an attempt is measured by.
type Measure int

// Measures, the least exact one first.
const (
	ByLife   Measure = iota // how long the attempt lived
	ByFile                  // when a file was last written
	ByNumber                // a number in the output
)

// Progress is how far an attempt came. The zero value means that only its time of life is known.
type Progress struct {
	By   Measure
	Name string // of the rule or the files, for people: "expect 'step (\d+)'"
	// At is the position. Numbers are compared from left to right, and NaN is no number. An empty
	// position means that the attempt reached nothing.
	At   []float64
	Text string // At for people: "1200"
	// Unknown means that the position could not be read. Such an attempt proves nothing.
	Unknown bool
}

// exceeds reports whether p is further than an earlier position.
func (p Progress) exceeds(old Progress) bool {
	if len(old.At) == 0 {
		return len(p.At) > 0
	}
	for i := range min(len(p.At), len(old.At)) {
		switch {
		case p.At[i] > old.At[i]:
			return true
		case p.At[i] < old.At[i]:
			return false
		case math.IsNaN(old.At[i]) && !math.IsNaN(p.At[i]):
			return true
		}
	}
	return false
}

// progressOf returns the progress of an end, with the time of life if nothing else is known.
func progressOf(e End) Progress {
	p := e.Progress
	if p.By == ByLife {
		p.At, p.Text = []float64{e.Lasted.Seconds()}, seconds(e.Lasted)
	}
	return p
}

// seconds formats a duration as "3.4 s", and from 10 seconds on as "12 s".
func seconds(d time.Duration) string {
	if d >= 10*time.Second {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// measure compares an attempt with the best one so far, and counts the attempts in a row that did
// not get further. An attempt that was ended from outside, or by us, may set a new best one, but
// does not count.
func (a *Account) measure(e End) {
	p := progressOf(e)
	switch {
	case p.Unknown:
		a.still = 0
	case !a.measured, p.exceeds(a.best):
		a.best, a.measured, a.still = p, true, 0
	case !e.Preempted && !e.Asked:
		a.still++
	}
}

// stands reports whether too many attempts in a row got no further.
func (a *Account) stands() bool {
	return a.Policy.MaxNoProgress > 0 && a.still >= a.Policy.MaxNoProgress
}

// standstill says which number stood still.
func (a *Account) standstill() string {
	row, b := fmt.Sprintf("%d attempts in a row", a.still), a.best
	if a.still == 1 {
		row = "1 attempt"
	}
	switch {
	case b.By == ByNumber && len(b.At) > 0:
		return fmt.Sprintf("no restart: %s got no further than %s, the number of %s", row, b.Text, b.Name)
	case b.By == ByNumber:
		return fmt.Sprintf("no restart: %s ended before the first number of %s", row, b.Name)
	case b.By == ByFile && len(b.At) > 0:
		return fmt.Sprintf("no restart: %s wrote no file of %s; the newest is from %s", row, b.Name, b.Text)
	case b.By == ByFile:
		return fmt.Sprintf("no restart: %s ended without a file of %s", row, b.Name)
	}
	return fmt.Sprintf("no restart: %s did not live longer than the longest before (%s)", row, b.Text)
}
