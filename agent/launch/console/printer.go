//go:build linux

package console

import (
	"io"
	"os"
	"strings"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/rendezvous"
)

// NewPrinter shows the progress of the wait on f: live on a terminal, and elsewhere as lines with
// our prefix. color is a value of --color.
func NewPrinter(f *os.File, color string, quiet, jsonLines bool) *rendezvous.Printer {
	p := rendezvous.NewPrinter(f, color)
	switch {
	case quiet:
		p.Out, p.TTY = io.Discard, false
	case jsonLines:
		p.Out, p.TTY = failure.JSONLines{Out: f, Level: "info"}, false
	case !p.TTY:
		p.Out = prefixed{f}
	}
	return p
}

// prefixed adds "agent: " to every line that is not indented.
type prefixed struct{ w io.Writer }

// Write implements io.Writer.
func (p prefixed) Write(line []byte) (int, error) {
	if len(line) > 0 && line[0] != ' ' {
		line = append([]byte("agent: "), line...)
	} else {
		line = []byte(strings.TrimLeft(string(line), " "))
	}
	if _, err := p.w.Write(line); err != nil {
		return 0, err
	}
	return len(line), nil
}
