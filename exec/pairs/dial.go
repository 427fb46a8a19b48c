package pairs

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/musterhq/muster/exec/wire"
)

const (
	atATime   = 8 // peers that are measured at a time
	longest   = 10 * time.Second
	mostError = 100 // bytes of an error
)

// Dial connects to peers and returns what it found out, in the order of the peers. It measures
// throughput with one peer at a time.
func Dial(ctx context.Context, ask wire.AskDialRecord) []wire.PairRecord {
	peers := ask.Peers[:min(len(ask.Peers), wire.MostPeers)]
	limit := min(time.Duration(ask.TimeoutMillis)*time.Millisecond, longest)
	width := atATime
	if ask.Bytes > 0 {
		width = 1
	}
	found := make([]wire.PairRecord, len(peers))
	var all sync.WaitGroup
	room := make(chan struct{}, width)
	for i, p := range peers {
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			ctx, stop := context.WithTimeout(ctx, limit)
			defer stop()
			rec := &found[i]
			rec.Worker = p.Worker
			if err := measure(ctx, p.Address, ask, rec); err != nil {
				rec.Error = brief(err)
			}
		})
	}
	all.Wait()
	return found
}

// measure connects to one peer, and measures.
func measure(ctx context.Context, address string, ask wire.AskDialRecord, to *wire.PairRecord) error {
	d := net.Dialer{}
	if ask.From != "" {
		ip := net.ParseIP(ask.From)
		if ip == nil {
			return fmt.Errorf("%q is not an IP address", ask.From)
		}
		d.LocalAddr = &net.TCPAddr{IP: ip}
	}
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	if until, ok := ctx.Deadline(); ok {
		if err := c.SetDeadline(until); err != nil {
			return err
		}
	}
	began := time.Now()
	if _, err := c.Write(append(slices.Clip(ask.Token), echo)); err != nil {
		return err
	}
	if err := expect(c, welcome, echo); err != nil {
		return err
	}
	to.RoundTripMicros = max(1, time.Since(began).Microseconds())
	if ask.Bytes == 0 {
		return nil // a second round trip with each of many peers would double the time for all
	}
	began = time.Now() // buffers are open now
	if err := write(c, echo); err != nil {
		return err
	}
	if err := expect(c, echo); err != nil {
		return err
	}
	to.RoundTripMicros = max(1, min(to.RoundTripMicros, time.Since(began).Microseconds()))
	return send(c, min(ask.Bytes, wire.MostTransfer), time.Duration(ask.TransferMillis)*time.Millisecond, to)
}

// send sends that many bytes, or fewer if the time is over before, and waits for the confirmation.
func send(c net.Conn, most int64, limit time.Duration, to *wire.PairRecord) error {
	if err := write(c, transfer); err != nil {
		return err
	}
	buf := make([]byte, 4+chunk)
	began := time.Now()
	for sent := int64(0); sent < most && (limit <= 0 || time.Since(began) < limit); {
		n := min(chunk, most-sent)
		binary.BigEndian.PutUint32(buf, uint32(n))
		if _, err := c.Write(buf[:4+n]); err != nil {
			return err
		}
		sent += n
	}
	answer := make([]byte, 8)
	if _, err := c.Write(answer[:4]); err != nil { // a chunk of no bytes
		return err
	}
	if _, err := io.ReadFull(c, answer); err != nil {
		return err
	}
	to.Bytes, to.Micros = int64(binary.BigEndian.Uint64(answer)), max(1, time.Since(began).Microseconds())
	return nil
}

func expect(c net.Conn, want ...byte) error {
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c, got); err != nil {
		// A peer that closes before it has read the request after the token causes a reset.
		if errors.Is(err, io.EOF) || len(want) > 1 && errors.Is(err, syscall.ECONNRESET) {
			return errors.New("the peer closed the connection: something else listens at its port")
		}
		return err
	}
	if !bytes.Equal(got, want) {
		return errors.New("the peer is not an agent of this job")
	}
	return nil
}

// brief returns the cause without the addresses, which the caller knows.
func brief(err error) string {
	var no syscall.Errno
	text := err.Error()
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		text = "no answer"
	case errors.As(err, &no):
		text = no.Error()
	}
	return text[:min(len(text), mostError)]
}
