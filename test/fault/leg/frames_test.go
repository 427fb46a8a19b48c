package leg

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/wire"
)

// pieces splits b randomly, into pieces of up to about 40*most bytes.
func pieces(rng *rand.Rand, most int, b []byte) (list [][]byte) {
	for len(b) > 0 {
		n := 1 + rng.IntN(min(len(b), 1+rng.IntN(40)*rng.IntN(most)))
		list, b = append(list, b[:n]), b[n:]
	}
	return list
}

func TestTapCallsBackBeforeTheFrame(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		var stream []byte
		at := 0
		for i, off := 0, uint64(0); i < 20; i++ {
			n := rng.IntN(60)
			if i == 10 {
				at, n = len(stream), 30
			}
			f := wire.Frame{Type: wire.Data, Stream: uint8(i % 2), Channel: 1, Offset: off, Payload: make([]byte, n)}
			if i == 10 {
				f = wire.Frame{Type: wire.Exit, Channel: 1, Payload: make([]byte, n)}
			}
			off += uint64(n)
			var err error
			stream, err = wire.Append(stream, f)
			require.NoError(t, err)
		}
		tap, s := &Tap{}, &scanner{}
		passed, called := 0, -1
		tap.On(Watch{Type: wire.Exit}, func(length int) {
			called = passed
			require.Equal(t, wire.HeaderLen+30, length)
		})
		for _, p := range pieces(rng, 2, stream) {
			for len(p) > 0 {
				n := tap.before(s, p)
				if n == 0 {
					n = len(p)
				}
				s.advance(p[:n])
				passed, p = passed+n, p[n:]
			}
		}
		require.GreaterOrEqual(t, called, at, "the tap called back before the frame arrived")
		require.Less(t, called, at+wire.HeaderLen, "the tap called back after the frame's whole header had passed")
	}
}

func TestMessageBoundaries(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 50 {
		head, frame := "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n", wsFrame
		if rng.IntN(2) == 0 {
			head, frame = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\n\r\n", spdyFrame
		}
		stream := []byte(head)
		ends := map[int]bool{len(stream): true}
		for range 10 {
			stream = append(stream, frame(rng.IntN(3)*rng.IntN(40000))...)
			ends[len(stream)] = true
		}
		var m messages
		done := 0
		for _, p := range pieces(rng, 1000, stream) {
			for len(p) > 0 {
				n := m.take(p)
				done, p = done+n, p[n:]
				require.Equal(t, ends[done], m.boundary(), "after %d", done)
			}
		}
	}
	var m messages
	m.take([]byte("HTTP/1.1 403 Forbidden\r\nUpgrade: websocket\r\n\r\nno"))
	require.False(t, m.boundary())
}

func wsFrame(n int) []byte {
	b := []byte{0x82}
	switch {
	case n < 126:
		b = append(b, byte(n))
	case n < 1<<16:
		b = append(b, 126, byte(n>>8), byte(n))
	default:
		b = append(b, 127, 0, 0, 0, 0, 0, byte(n>>16), byte(n>>8), byte(n))
	}
	return append(b, bytes.Repeat([]byte{0x88}, n)...)
}

func spdyFrame(n int) []byte {
	return append([]byte{0, 0, 0, 5, 0, byte(n >> 16), byte(n >> 8), byte(n)}, make([]byte, n)...)
}
