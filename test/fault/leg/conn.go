package leg

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/remote"
)

// Dialer taps what a launcher sends, before it goes onto the first leg.
type Dialer struct {
	link.Dialer
	Tap *Tap
	// Lingering counts the launcher's connections that were closed and left
	// goroutines behind in their library.
	Lingering *atomic.Int64
}

// Dial implements link.Dialer.
func (d Dialer) Dial(ctx context.Context) (io.ReadWriteCloser, error) {
	c, err := d.Dialer.Dial(ctx)
	if err != nil {
		d.closed(err)
		return nil, err
	}
	return &tapped{ReadWriteCloser: c, from: d}, nil
}

func (d Dialer) closed(err error) {
	if errors.Is(err, remote.ErrLingers) {
		d.Lingering.Add(1)
	}
}

type tapped struct {
	io.ReadWriteCloser
	from    Dialer
	scanner scanner
}

// Close passes its error on, and counts one that tells of goroutines.
func (c *tapped) Close() error {
	err := c.ReadWriteCloser.Close()
	c.from.closed(err)
	return err
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
