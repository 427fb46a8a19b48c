package barrier

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Seat is what the coordinator knows of one rank.
type Seat struct {
	Rank int
	Came bool // somebody has been here
	Here bool // and is
	Card Card // the newest
	News News // the newest
	// Left is when it went, Why how it did.
	Left time.Time
	Why  string

	notes []string // of those who wanted the seat and did not get it
}

// Absent is a rank that a barrier waits for, and why it is not there.
type Absent struct {
	Rank int    `json:"rank"`
	Why  string `json:"why"`
}

// mostNotes bounds what is kept of those who were refused.
const mostNotes = 3

// note keeps a sentence about somebody who was refused, once.
func (s *Seat) note(text string) {
	if len(s.notes) < mostNotes && !slices.Contains(s.notes, text) {
		s.notes = append(s.notes, text)
	}
}

// ready: it takes part in the next attempt.
func (s *Seat) ready() bool { return s.Here && s.News.Ready && s.News.Leaving == "" }

// absence says why the seat is not ready.
func (s *Seat) absence(now time.Time) string {
	why := "has not come"
	switch {
	case s.Here && s.News.Leaving != "":
		why = fmt.Sprintf("%s is about to go: %s", s.Card.Name, s.News.Leaving)
	case s.Here:
		why = fmt.Sprintf("%s still stops the processes of attempt %d", s.Card.Name, s.News.Attempt)
	case s.Came:
		why = fmt.Sprintf("%s came and left %s ago: %s", s.Card.Name, now.Sub(s.Left).Round(time.Second), s.Why)
	}
	return strings.Join(append([]string{why}, s.notes...), "; ")
}

// Sentence names the rank and why it is not there.
func (a Absent) Sentence() string { return fmt.Sprintf("rank %d: %s", a.Rank, a.Why) }

// pod is how a card is named in sentences.
func (c Card) pod() string {
	if c.Address == "" {
		return c.Name
	}
	return c.Name + " (" + c.Address + ")"
}
