package barrier

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Seat is what the coordinator knows about one rank.
type Seat struct {
	Rank int
	Came bool // a member has been here
	Here bool // a member is here now
	Card Card // the newest
	News News // the newest
	// Left is when the member left, and Why says how.
	Left time.Time
	Why  string

	notes []string // about members that were refused this seat
}

// Absent is a rank that a barrier waits for, and the reason why it is missing.
type Absent struct {
	Rank int    `json:"rank"`
	Why  string `json:"why"`
}

// mostNotes is how many sentences about refused members are kept.
const mostNotes = 3

// note keeps a sentence about a refused member, once.
func (s *Seat) note(text string) {
	if len(s.notes) < mostNotes && !slices.Contains(s.notes, text) {
		s.notes = append(s.notes, text)
	}
}

// ready reports whether the member takes part in the next attempt.
func (s *Seat) ready() bool { return s.Here && s.News.Ready && s.News.Leaving == "" }

// absence says why the seat is not ready.
func (s *Seat) absence(now time.Time) string {
	why := "has not joined"
	switch {
	case s.Here && s.News.Leaving != "":
		why = fmt.Sprintf("%s is leaving: %s", s.Card.Name, s.News.Leaving)
	case s.Here:
		why = fmt.Sprintf("%s is still stopping attempt %d", s.Card.Name, s.News.Attempt)
	case s.Came:
		why = fmt.Sprintf("%s left %s ago: %s", s.Card.Name, now.Sub(s.Left).Round(time.Second), s.Why)
	}
	return strings.Join(append([]string{why}, s.notes...), "; ")
}

// Sentence names the rank and the reason why it is missing.
func (a Absent) Sentence() string { return fmt.Sprintf("rank %d: %s", a.Rank, a.Why) }

// pod returns the name of a card in sentences.
func (c Card) pod() string {
	if c.Address == "" {
		return c.Name
	}
	return c.Name + " (" + c.Address + ")"
}
