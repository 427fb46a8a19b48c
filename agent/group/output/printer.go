package output

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
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
	// Append means that existing files belong to earlier attempts of this run, and are continued.
	Append bool
}

// Printer provides the writers of processes.
type Printer struct {
	cfg    Config
	mu     sync.Mutex // protects Out and Err, which may be one terminal
	ledger *ledger    // for kind Dir
}

// New returns a Printer. For kind Dir it creates the directory if necessary.
func New(cfg Config) (*Printer, error) {
	p := &Printer{cfg: cfg}
	if cfg.Mode.Kind == Dir {
		if err := os.MkdirAll(cfg.Mode.Dir, 0o777); err != nil {
			return nil, fmt.Errorf("make output directory: %w", err)
		}
		var err error
		if p.ledger, err = openLedger(cfg.Mode.Dir); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Streams returns the writers of one process. rank is -1 if it has none, and label is its name
// ("rank 3", "ps 0"). It returns nil writers if its output is not shown.
func (p *Printer) Streams(rank int, label string) (stdout, stderr io.WriteCloser, err error) {
	if p.cfg.Only != nil && !Within(p.cfg.Only, rank) {
		return nil, nil, nil
	}
	switch {
	case p.cfg.Mode.Kind == Dir:
		return p.files(label)
	case p.cfg.Mode.Kind == Plain && p.cfg.Processes == 1:
		return passing{p.cfg.Out}, passing{p.cfg.Err}, nil
	case p.cfg.Mode.Kind == Plain:
		return &lines{to: p.cfg.Out, mu: &p.mu}, &lines{to: p.cfg.Err, mu: &p.mu}, nil
	}
	tag := p.tag(rank, label)
	return &lines{to: p.cfg.Out, mu: &p.mu, tag: coloured(tag, rank, p.cfg.ColorOut)},
		&lines{to: p.cfg.Err, mu: &p.mu, tag: coloured(tag, rank, p.cfg.ColorErr)}, nil
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

// files opens rank-3.out and rank-3.err.
func (p *Printer) files(label string) (stdout, stderr io.WriteCloser, err error) {
	base := strings.ReplaceAll(label, " ", "-")
	out, err := p.ledger.open(base+".out", p.cfg.Append)
	if err != nil {
		return nil, nil, fmt.Errorf("open output file: %w", err)
	}
	complaints, err := p.ledger.open(base+".err", p.cfg.Append)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open output file: %w", err), out.Close())
	}
	return out, complaints, nil
}

// passing is a writer that Close does not close.
type passing struct{ io.Writer }

// Close implements io.Closer. It does nothing.
func (passing) Close() error { return nil }
