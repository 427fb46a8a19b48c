package jobs

import (
	"fmt"
	"io"
)

// Printer writes lines. If several pods are read, it adds the name of the pod.
type Printer struct {
	Out        io.Writer // nil: discards
	Timestamps bool
	Color      bool
}

// Line prints one line in one write.
func (p Printer) Line(l Line) error {
	if p.Out == nil {
		return nil
	}
	var b []byte
	if l.Pod != "" {
		b = p.paint(b, l)
	}
	if p.Timestamps && !l.At.IsZero() {
		b = l.At.AppendFormat(b, "2006-01-02T15:04:05.000000000Z07:00 ")
	}
	b = append(append(b, l.Text...), '\n')
	_, err := p.Out.Write(b)
	return err
}

// paint gives each pod its own color, if Color is set.
func (p Printer) paint(b []byte, l Line) []byte {
	if !p.Color {
		return append(append(append(b, '['), l.Pod...), "] "...)
	}
	return fmt.Appendf(b, "\x1b[%dm[%s]\x1b[0m ", 31+(l.Rank+7)%6, l.Pod)
}
