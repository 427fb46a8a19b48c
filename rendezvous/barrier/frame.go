package barrier

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// kind is the type of a frame.
type kind byte

const (
	kindHello  kind = 1 + iota // coordinator: magic, nonce
	kindProve                  // member: nonce, claimed rank, proof
	kindProved                 // coordinator: proof
	kindRefuse                 // coordinator: a Refusal
	kindCard                   // member: a Card, once
	kindNews                   // member: News
	kindOrder                  // coordinator: an Order
	kindWork                   // coordinator: data of the caller for this member
	kindPing                   // answered by a pong
	kindPong
)

// limit is the longest payload of a frame in bytes.
func (k kind) limit() int {
	switch k {
	case kindHello, kindProve, kindProved:
		return 256
	case kindRefuse, kindCard:
		return 8 << 10
	case kindNews, kindWork:
		return 512 << 10
	case kindOrder:
		return 8 << 20 // with a table of 10,000 members it has some 300 kB
	}
	return 0
}

// maxUnproved is the longest payload before the proof.
const maxUnproved = 1 << 10

// ErrProtocol is wrapped by every error that was caused by bytes of the other side.
var ErrProtocol = errors.New("protocol violation in agent join")

const headerSize = 5 // kind, then the length in 4 bytes, big endian

func appendHeader(b []byte, k kind, length int) []byte {
	return binary.BigEndian.AppendUint32(append(b, byte(k)), uint32(length))
}

// readFrame reads one frame and the tail bytes after it, which are its seal. most limits the
// payload in addition to the kind's own limit. It allocates nothing before it has checked the
// length.
func readFrame(r io.Reader, most, tail int) (k kind, payload, seal []byte, err error) {
	var header [headerSize]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return 0, nil, nil, err
	}
	k = kind(header[0])
	length := binary.BigEndian.Uint32(header[1:])
	if k < kindHello || k > kindPong {
		return 0, nil, nil, fmt.Errorf("%w: kind %d", ErrProtocol, k)
	}
	if length > uint32(min(most, k.limit())) {
		return 0, nil, nil, fmt.Errorf("%w: %d bytes of kind %d", ErrProtocol, length, k)
	}
	buf := make([]byte, int(length)+tail)
	if _, err := io.ReadFull(r, buf); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, nil, err
	}
	return k, buf[:length:length], buf[length:], nil
}
