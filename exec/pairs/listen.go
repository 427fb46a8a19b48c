package pairs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/musterhq/muster/exec/wire"
)

const (
	tokenTime = 2 * time.Second  // for a peer to send the token
	connTime  = 10 * time.Second // for everything on one connection
	mostConns = 256              // at a time
)

// Requests of a dialer.
const (
	echo     = 'e'
	transfer = 't'
	welcome  = 'w' // the listener's answer to the token
)

// chunk is how many bytes a dialer sends at a time.
const chunk = 256 << 10

// Listener serves the measurements of peers.
type Listener struct {
	ln    net.Listener
	token []byte
}

// Listen listens at an IP address and a port that the kernel chooses. Serve must be called.
func Listen(address string, token []byte) (*Listener, error) {
	if net.ParseIP(address) == nil {
		return nil, fmt.Errorf("%q is not an IP address", address)
	}
	if len(token) != wire.PairTokenSize {
		return nil, fmt.Errorf("a token has %d bytes, not %d", wire.PairTokenSize, len(token))
	}
	var plain net.ListenConfig
	plain.SetMultipathTCP(false) // Go's default costs time for each connection
	ln, err := plain.Listen(context.Background(), "tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		return nil, err
	}
	return &Listener{ln: ln, token: token}, nil
}

// Port returns the port.
func (l *Listener) Port() int { return l.ln.Addr().(*net.TCPAddr).Port }

// Serve serves peers until ctx ends, and waits for all of its goroutines.
func (l *Listener) Serve(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	stop := context.AfterFunc(ctx, func() { l.ln.Close() })
	defer stop()
	defer l.ln.Close()
	room := make(chan struct{}, mostConns)
	for {
		c, err := l.ln.Accept()
		if err != nil {
			return // closed, or out of descriptors: the dialers report that
		}
		select {
		case room <- struct{}{}:
		default:
			c.Close()
			continue
		}
		all.Go(func() {
			defer func() { <-room }()
			defer c.Close()
			stop := context.AfterFunc(ctx, func() { c.Close() })
			defer stop()
			l.serve(c)
		})
	}
}

// serve serves one connection until it ends. A peer that breaks the rules is dropped.
func (l *Listener) serve(c net.Conn) {
	if c.SetDeadline(time.Now().Add(tokenTime)) != nil {
		return
	}
	got := make([]byte, wire.PairTokenSize)
	if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, l.token) {
		return
	}
	if c.SetDeadline(time.Now().Add(connTime)) != nil {
		return
	}
	in, answer := bufio.NewReaderSize(c, 64), []byte{welcome}
	for room := int64(wire.MostTransfer); ; {
		if in.Buffered() == 0 {
			if _, err := c.Write(answer); err != nil {
				return
			}
			answer = answer[:0]
		}
		request, err := in.ReadByte()
		if err != nil {
			return
		}
		switch request {
		case echo:
			answer = append(answer, echo)
		case transfer:
			total, ok := receive(in, room)
			if !ok {
				return
			}
			room -= total
			answer = binary.BigEndian.AppendUint64(answer, uint64(total))
		default:
			return
		}
	}
}

// receive drops the chunks of a transfer and returns their size. It fails if they are more than
// room.
func receive(in io.Reader, room int64) (total int64, ok bool) {
	head, buf := make([]byte, 4), make([]byte, chunk)
	for {
		if _, err := io.ReadFull(in, head); err != nil {
			return 0, false
		}
		n := int64(binary.BigEndian.Uint32(head))
		if n == 0 {
			return total, true
		}
		if total += n; total > room {
			return 0, false
		}
		for n > 0 {
			got, err := in.Read(buf[:min(n, chunk)])
			if n -= int64(got); err != nil {
				return 0, false
			}
		}
	}
}

func write(c net.Conn, b byte) error {
	_, err := c.Write([]byte{b})
	return err
}
