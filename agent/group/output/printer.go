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

// Config of a Printer.
type Config struct {
	Mode     Mode
	Out, Err io.Writer // the launcher's own
	// ColorOut and ColorErr say that tags may be coloured there.
	ColorOut, ColorErr bool
	// Only are the ranks whose output is shown; nil: all, and what has no rank.
	Only []Span
	// Ranks is how many ranks there are, Members how many processes.
	Ranks, Members int
	// Append says that existing files are those of this run's earlier attempts,
	// and are continued.
	Append bool
}

// Printer gives out the writers of processes.
type Printer struct {
	cfg    Config
	mu     sync.Mutex // of Out and Err: they may be one terminal
	ledger *ledger    // of Dir
}

// New makes a Printer. With Dir it makes the directory, if that is missing.
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

// Streams makes the writers of one process; rank is -1 for one that has none,
// label its name ("rank 3", "ps 0"). Nil writers: it is not shown.
func (p *Printer) Streams(rank int, label string) (stdout, stderr io.WriteCloser, err error) {
	if p.cfg.Only != nil && !Within(p.cfg.Only, rank) {
		return nil, nil, nil
	}
	switch {
	case p.cfg.Mode.Kind == Dir:
		return p.files(label)
	case p.cfg.Mode.Kind == Plain && p.cfg.Members == 1:
		return passing{p.cfg.Out}, passing{p.cfg.Err}, nil
	case p.cfg.Mode.Kind == Plain:
		return &lines{to: p.cfg.Out, mu: &p.mu}, &lines{to: p.cfg.Err, mu: &p.mu}, nil
	}
	tag := p.tag(rank, label)
	return &lines{to: p.cfg.Out, mu: &p.mu, tag: coloured(tag, rank, p.cfg.ColorOut)},
		&lines{to: p.cfg.Err, mu: &p.mu, tag: coloured(tag, rank, p.cfg.ColorErr)}, nil
}

// tag is "  3: ", as wide as the widest rank.
func (p *Printer) tag(rank int, label string) string {
	if rank < 0 {
		return label + ": "
	}
	return fmt.Sprintf("%*d: ", len(strconv.Itoa(max(p.cfg.Ranks-1, 0))), rank)
}

// colours are told apart on a dark and on a light ground.
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

// passing hands a writer on that is not to be closed.
type passing struct{ io.Writer }

func (passing) Close() error { return nil }
