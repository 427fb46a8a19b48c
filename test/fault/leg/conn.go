package leg

import (
	"context"
	"io"

	"github.com/musterhq/muster/exec/link"
)

// Dialer taps what a launcher sends, before it goes onto the first leg.
type Dialer struct {
	link.Dialer
	Tap *Tap
}

// Dial implements link.Dialer.
func (d Dialer) Dial(ctx context.Context) (io.ReadWriteCloser, error) {
	c, err := d.Dialer.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return &tapped{ReadWriteCloser: c, from: d}, nil
}

type tapped struct {
	io.ReadWriteCloser
	from    Dialer
	scanner scanner
}

// Write sends what comes before the frame waited for, calls back, and goes on.
func (c *tapped) Write(p []byte) (int, error) {
	done := 0
	for done < len(p) {
		n := c.from.Tap.before(&c.scanner, p[done:])
		if n == 0 {
			n = len(p) - done
		}
		c.scanner.advance(p[done : done+n])
		m, err := c.ReadWriteCloser.Write(p[done : done+n])
		done += m
		if err != nil {
			return done, err
		}
	}
	return done, nil
}
