//go:build linux

package session

import (
	"bufio"
	"time"

	"github.com/musterhq/muster/exec/wire"
)

// patience is how long a frame that nobody waits for may wait for others to go out with. A daemon of an MPI that
// goes into the background has ended by then.
const patience = 250 * time.Millisecond

// patient holds the frames of a connection that wait for others. It is guarded by conn.mu.
type patient struct {
	frames []wire.Frame
	due    bool        // they have waited long enough
	timer  *time.Timer // nil: no frame has waited yet
}

// pushPatiently is push for a frame that may wait for patience.
func (c *conn) pushPatiently(f wire.Frame) {
	if !c.addPatiently(f) {
		c.close()
	}
}

// addPatiently drops a frame if the connection is closed. It returns false if too many frames wait.
func (c *conn) addPatiently(f wire.Frame) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &c.patient
	if c.closed || len(p.frames) >= longestQueue {
		return c.closed
	}
	p.frames = append(p.frames, f)
	switch {
	case p.timer == nil:
		p.timer = time.AfterFunc(patience, c.hurry)
	case len(p.frames) == 1:
		p.timer.Reset(patience)
	}
	return true
}

// hurry has the sender send the frames that have waited.
func (c *conn) hurry() {
	c.mu.Lock()
	c.patient.due = len(c.patient.frames) > 0
	c.mu.Unlock()
	c.kick()
}

// take returns the frames. They precede all others, so that a session's frames come after the answer to its OPEN.
func (p *patient) take() []wire.Frame {
	if len(p.frames) == 0 {
		return nil
	}
	frames := p.frames
	p.frames, p.due = nil, false
	p.timer.Stop()
	return frames
}

// sendPatient writes the frames that wait.
func (c *conn) sendPatient(w *bufio.Writer) error {
	c.mu.Lock()
	frames := c.patient.take()
	c.mu.Unlock()
	return writeFrames(w, frames)
}

func writeFrames(w *bufio.Writer, frames []wire.Frame) error {
	for _, f := range frames {
		b, err := wire.Append(w.AvailableBuffer(), f)
		if err != nil {
			return err
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}
