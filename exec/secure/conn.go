package secure

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/flynn/noise"
)

const (
	headerSize = 2
	tagSize    = 16
	// frameSize is the limit in bytes of a record with its header. Larger records would save few
	// system calls, and cost memory for each busy connection.
	frameSize = 32 << 10
	// mostRecord is the limit in bytes of the plain text of a record.
	mostRecord = frameSize - headerSize - tagSize
	// smallSize is the buffer of an idle connection. It holds a PING and the like.
	smallSize = 128
)

// ErrRecord reports a record that the other end of the handshake did not seal, or not at this place.
// No later byte of the connection can be trusted.
var ErrRecord = errors.New("record is not authentic")

// Conn is a connection whose records are sealed: a net.Conn over another one. One goroutine may read
// while another writes, and any goroutine may call Close. Deadlines are those of the connection
// below. A read that reached its deadline can be repeated. After an error of Write, the connection
// cannot be written to any more, as with crypto/tls.
type Conn struct {
	net.Conn
	peer []byte // X25519 key of the other end

	reading sync.Mutex
	in      *noise.CipherState
	inErr   error           // ErrRecord: the connection cannot be read any more
	small   [smallSize]byte // what was read and does not need more
	big     *buffer         // the same, if it does; nil: small
	have    int             // bytes in small or big, beginning with a header
	plain   []byte          // what is opened and not delivered; in small or big
	taken   int             // bytes of the record that plain belongs to
	writing sync.Mutex
	out     *noise.CipherState
	outErr  error // the connection cannot be written to any more
}

func newConn(nc net.Conn, in, out *noise.CipherState, peer []byte) *Conn {
	return &Conn{Conn: nc, in: in, out: out, peer: peer}
}

// Peer returns the X25519 key of the other end. A process has the same key on all its connections.
func (c *Conn) Peer() []byte { return c.peer }

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (int, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	for len(c.plain) == 0 {
		if len(p) == 0 {
			return 0, nil
		}
		if err := c.open(); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.plain)
	c.plain = c.plain[n:]
	if len(c.plain) == 0 {
		c.drop()
	}
	return n, nil
}

// confirmed reads one record, which must be empty.
func (c *Conn) confirmed() error {
	c.reading.Lock()
	defer c.reading.Unlock()
	if err := c.open(); err != nil {
		return fmt.Errorf("wait for the launcher's confirmation: %w", err)
	}
	if len(c.plain) > 0 {
		return fmt.Errorf("%w: a record before the confirmation", ErrRecord)
	}
	return nil
}

// buffer returns the whole current buffer.
func (c *Conn) buffer() []byte {
	if c.big != nil {
		return c.big.bytes
	}
	return c.small[:]
}

// open reads and opens the next record. It keeps what it has read if the connection below returns an
// error, so that a later call continues there.
func (c *Conn) open() error {
	if c.inErr != nil {
		return c.inErr
	}
	for {
		if c.have >= headerSize {
			whole := headerSize + int(binary.BigEndian.Uint16(c.buffer()))
			if whole > frameSize || whole < headerSize+tagSize {
				c.inErr = fmt.Errorf("%w: its length is %d", ErrRecord, whole)
				return c.inErr
			}
			if c.have >= whole {
				return c.openHeld(whole)
			}
			c.grow(whole)
		}
		b := c.buffer()
		n, err := c.Conn.Read(b[c.have:])
		c.have += n
		if err != nil && n == 0 {
			if errors.Is(err, io.EOF) && c.have > 0 {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
	}
}

// openHeld opens the record at the beginning of the buffer.
func (c *Conn) openHeld(whole int) error {
	b := c.buffer()
	plain, err := c.in.Decrypt(b[headerSize:headerSize], nil, b[headerSize:whole])
	if err != nil {
		c.inErr = ErrRecord
		return c.inErr
	}
	c.plain, c.taken = plain, whole
	if len(plain) == 0 {
		c.drop()
	}
	return nil
}

// grow borrows a larger buffer unless the current one holds a record of that size.
func (c *Conn) grow(whole int) {
	if whole <= len(c.buffer()) {
		return
	}
	larger := borrow(whole)
	copy(larger.bytes, c.buffer()[:c.have])
	if c.big != nil {
		c.big.giveBack()
	}
	c.big = larger
}

// drop removes the record that was delivered from the buffer, and gives the larger buffer back if
// the rest fits into the small one.
func (c *Conn) drop() {
	b := c.buffer()
	rest := b[c.taken:c.have]
	c.have, c.taken, c.plain = len(rest), 0, nil
	if c.big != nil && len(rest) <= smallSize {
		copy(c.small[:], rest)
		c.big.giveBack()
		c.big = nil
		return
	}
	copy(b, rest)
}

// Write implements net.Conn.
func (c *Conn) Write(p []byte) (n int, err error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	for len(p) > 0 {
		part := p[:min(len(p), mostRecord)]
		if err := c.seal(part); err != nil {
			return n, err
		}
		n, p = n+len(part), p[len(part):]
	}
	return n, nil
}

// confirm writes an empty record.
func (c *Conn) confirm() error {
	c.writing.Lock()
	defer c.writing.Unlock()
	return c.seal(nil)
}

// seal writes one record with p. The caller holds writing.
func (c *Conn) seal(p []byte) error {
	if c.outErr != nil {
		return c.outErr
	}
	b := borrow(headerSize + len(p) + tagSize)
	defer b.giveBack()
	binary.BigEndian.PutUint16(b.bytes, uint16(len(p)+tagSize))
	sealed, err := c.out.Encrypt(b.bytes[:headerSize], nil, p)
	if err == nil {
		_, err = c.Conn.Write(sealed)
	}
	c.outErr = err
	return err
}
