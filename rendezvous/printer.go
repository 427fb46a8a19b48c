package rendezvous

import (
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/musterhq/muster/exec/names"
)

// Printer shows Progress. On a terminal it keeps one live line. Otherwise it prints a line after
// each change and one every 30 s. It prints a hint once for each code, except for codes that every
// start has.
type Printer struct {
	Out   io.Writer
	TTY   bool
	Color bool
	Width func() int // of the terminal; nil or 0: do not cut

	last    string
	printed time.Time
	hinted  map[Code]bool
	noted   map[string]bool
	live    bool // the cursor is at the end of a live line
}

const (
	repeatEvery = 30 * time.Second
	// changeEvery is the shortest time between two lines, so that a thousand workers that start one
	// by one do not print a thousand lines.
	changeEvery = time.Second
	// maxNotes limits the notes. If a thousand workers are removed from a job, it has a thousand
	// surplus pods.
	maxNotes = 5
)

// NewPrinter returns a Printer for f, with colors according to a value of --color. There is a live line
// if f is a terminal, unless TERM=dumb.
func NewPrinter(f *os.File, color string) *Printer {
	p := &Printer{Out: f}
	if term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		p.TTY, p.Color = true, names.Colored(color, true, os.Getenv)
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

// Finish prints the last state unless it is printed already, and ends the live line. Call it once,
// after the wait.
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

// above prints complete lines in place of the live line, if there is one.
func (p *Printer) above(text string) {
	if p.live {
		text = "\r\x1b[K" + text
		p.live = false
	}
	_, _ = p.Out.Write([]byte(text))
}

// paint cuts the live line to the width of the terminal, because a wrapped line cannot be replaced,
// and colors its count.
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
