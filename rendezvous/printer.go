package rendezvous

import (
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// Printer shows Progress: on a terminal one live line, else a line when
// something changed and one every 30 s. A hint is printed once for each code
// that not every start passes through.
type Printer struct {
	Out   io.Writer
	TTY   bool
	Color bool
	Width func() int // of the terminal; nil or 0: do not cut

	last    string
	printed time.Time
	hinted  map[Code]bool
	noted   map[string]bool
	live    bool // the cursor stands at the end of a live line
}

const (
	repeatEvery = 30 * time.Second
	// changeEvery keeps a thousand workers that come up one by one from being a
	// thousand lines in a log.
	changeEvery = time.Second
	// maxNotes: a job made smaller by a thousand has a thousand pods too many.
	maxNotes = 5
)

// NewPrinter looks whether f is a terminal, and honours NO_COLOR and TERM=dumb.
func NewPrinter(f *os.File) *Printer {
	p := &Printer{Out: f}
	if term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		p.TTY, p.Color = true, os.Getenv("NO_COLOR") == ""
		p.Width = func() int { width, _, _ := term.GetSize(int(f.Fd())); return width }
	}
	return p
}

// Show prints what is due at now.
func (p *Printer) Show(s Progress, now time.Time) {
	if p.TTY {
		p.hints(s)
		_, _ = p.Out.Write([]byte("\r\x1b[K" + p.paint(s)))
		p.live = true
		return
	}
	since := now.Sub(p.printed)
	first := p.printed.IsZero()
	if first || since >= repeatEvery || s.state != p.last && since >= changeEvery {
		p.line(s, now)
	}
}

// Finish prints the last state for good, if it is not printed yet, and ends the
// live line. Call it once, when the wait is over.
func (p *Printer) Finish(s Progress, now time.Time) {
	if p.TTY {
		p.Show(s, now)
		_, _ = p.Out.Write([]byte("\n"))
		p.live = false
		return
	}
	if p.printed.IsZero() || s.state != p.last {
		p.line(s, now)
	}
}

func (p *Printer) line(s Progress, now time.Time) {
	p.last, p.printed = s.state, now
	_, _ = p.Out.Write([]byte(s.Sentence + "\n"))
	p.hints(s)
}

// hints prints notes and hints above the live line, or after the line.
func (p *Printer) hints(s Progress) {
	if p.hinted == nil {
		p.hinted, p.noted = map[Code]bool{}, map[string]bool{}
	}
	for _, note := range s.Notes {
		if !p.noted[note] && len(p.noted) < maxNotes {
			p.noted[note] = true
			p.above("  note: " + note + "\n")
		}
	}
	for _, line := range s.Waiting {
		r := line.Reason
		if r.Ordinary() || r.Hint == "" || p.hinted[r.Code] {
			continue
		}
		p.hinted[r.Code] = true
		text := r.Sentence + "\n  hint: " + r.Hint + "\n"
		if !p.TTY {
			text = "  hint: " + r.Hint + "\n"
		}
		p.above(text)
	}
}

// above writes whole lines in the place of the live line, if there is one.
func (p *Printer) above(text string) {
	if p.live {
		text = "\r\x1b[K" + text
		p.live = false
	}
	_, _ = p.Out.Write([]byte(text))
}

// paint cuts the live line to the terminal's width, as a line that wraps cannot
// be taken back, and colours its count.
func (p *Printer) paint(s Progress) string {
	text := s.Sentence
	if p.Width != nil {
		if width := p.Width(); width > 4 {
			if runes := []rune(text); len(runes) >= width {
				text = string(runes[:width-4]) + "..."
			}
		}
	}
	if !p.Color {
		return text
	}
	head, rest, found := strings.Cut(text, ";")
	colour := "\x1b[33m" // yellow
	if s.Ready == s.Want {
		colour = "\x1b[32m"
	}
	if found {
		rest = ";" + rest
	}
	return colour + head + "\x1b[0m" + rest
}
