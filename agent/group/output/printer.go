package output

import (
	"fmt"
	"io"
	"strconv"
	"sync"
)

// Config configures a Printer.
type Config struct {
	Mode     Mode
	Out, Err io.Writer // the launcher's own
	// ColorOut and ColorErr allow colored tags on these.
	ColorOut, ColorErr bool
	// Only selects the ranks whose output is shown; nil: all processes, including those without a
	// rank.
	Only []Span
	// Ranks is the number of ranks, Members the number of processes.
	Ranks, Processes int
}

// Printer provides the writers of processes.
type Printer struct {
	cfg Config
	mu  sync.Mutex // protects Out and Err, which may be one terminal
}

// New returns a Printer. The files of kind Dir are those of package archive: the caller opens them.
func New(cfg Config) *Printer { return &Printer{cfg: cfg} }

// Shows reports whether the output of the rank is shown; -1 is a process without one.
func (p *Printer) Shows(rank int) bool { return p.cfg.Only == nil || Within(p.cfg.Only, rank) }

// Streams returns the writers of one process. rank is -1 if it has none, and label is its name
// ("rank 3", "ps 0"). It returns nil writers if its output is not shown.
func (p *Printer) Streams(rank int, label string) (stdout, stderr io.WriteCloser) {
	if !p.Shows(rank) {
		return nil, nil
	}
	switch {
	case p.cfg.Mode.Kind == Plain && p.cfg.Processes == 1:
		return passing{p.cfg.Out}, passing{p.cfg.Err}
	case p.cfg.Mode.Kind == Plain:
		return &lines{to: p.cfg.Out, mu: &p.mu}, &lines{to: p.cfg.Err, mu: &p.mu}
	}
	tag := p.tag(rank, label)
	return &lines{to: p.cfg.Out, mu: &p.mu, tag: coloured(tag, rank, p.cfg.ColorOut)},
		&lines{to: p.cfg.Err, mu: &p.mu, tag: coloured(tag, rank, p.cfg.ColorErr)}
}

// tag returns " 3: ", padded to the width of the highest rank.
func (p *Printer) tag(rank int, label string) string {
	if rank < 0 {
		return label + ": "
	}
	return fmt.Sprintf("%*d: ", len(strconv.Itoa(max(p.cfg.Ranks-1, 0))), rank)
}

// colours are visible on dark and on light backgrounds.
var colours = [...]int{36, 33, 32, 35, 34, 31, 96, 93, 92, 95, 94, 91}

func coloured(tag string, rank int, colour bool) string {
	if !colour || rank < 0 {
		return tag
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", colours[rank%len(colours)], tag)
}

// passing is a writer that Close does not close.
type passing struct{ io.Writer }

// Close implements io.Closer. It does nothing.
func (passing) Close() error { return nil }
