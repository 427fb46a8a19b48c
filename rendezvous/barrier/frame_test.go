package barrier

import (
	"bytes"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// FuzzFrame checks that a frame is either read as written or rejected, whatever bytes arrive.
// readFrame reads and keeps no more bytes than the frame's kind allows.
func FuzzFrame(f *testing.F) {
	f.Add(append(appendHeader(nil, kindHello, 3), "abc"...))
	f.Add(appendHeader(nil, kindOrder, 1<<31))
	f.Add(appendHeader(nil, kindPing, 1))
	f.Add([]byte{0, 0, 0, 0, 0})
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, input []byte) {
		r := bytes.NewReader(input)
		k, payload, seal, err := readFrame(r, maxUnproved, 4)
		if err != nil {
			return
		}
		require.LessOrEqual(t, len(payload), min(k.limit(), maxUnproved))
		require.Len(t, seal, 4)
		again := append(append(appendHeader(nil, k, len(payload)), payload...), seal...)
		require.Equal(t, input[:len(input)-r.Len()], again)
	})
}

// FuzzWelcome checks that a peer without the token is never admitted, whatever it sends, and that
// one wrong byte in a sealed frame ends the connection.
func FuzzWelcome(f *testing.F) {
	f.Add([]byte{}, uint16(0))
	f.Add(append(appendHeader(nil, kindProve, nonceSize+4+proofSize), make([]byte, nonceSize+4+proofSize)...), uint16(7))
	f.Fuzz(func(t *testing.T, input []byte, at uint16) {
		ours, theirs := net.Pipe()
		go func() {
			_, _ = ours.Write(input) // the reader may close the connection early
			ours.Close()
		}()
		go func() { _, _ = io.Copy(io.Discard, ours) }()
		c, _, err := welcome(theirs, []byte(secret))
		require.Error(t, err)
		require.True(t, c == nil || c.in == nil)
		theirs.Close()

		one, other := pair(t)
		frame := record(t, one, kindNews, []byte(`{"attempt":3}`))
		frame[int(at)%len(frame)] ^= 1
		feed(other, frame)
		_, _, err = other.receive(time.Second)
		require.Error(t, err)
	})
}

// record returns the bytes that a connection writes for a frame.
func record(t *testing.T, c *conn, k kind, payload []byte) []byte {
	a, b := net.Pipe()
	keep := *c
	keep.Conn = a
	done := make(chan error, 1)
	go func() {
		done <- keep.send(k, payload)
		a.Close()
	}()
	text, err := io.ReadAll(b)
	require.NoError(t, err)
	require.NoError(t, <-done)
	return text
}

// pair returns both ends of a connection after the proof of the token: the member's end and rank
// 0's end.
func pair(t *testing.T) (member, coordinator *conn) {
	ours, theirs := net.Pipe()
	got := make(chan *conn, 1)
	go func() {
		c, _, err := welcome(theirs, []byte(secret))
		if err != nil {
			theirs.Close()
		}
		got <- c
	}()
	member, err := enter(ours, []byte(secret), 3)
	require.NoError(t, err)
	coordinator = <-got
	require.NotNil(t, coordinator)
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	return member, coordinator
}

// feed makes a connection read the given bytes and then the end of the stream.
func feed(c *conn, text ...[]byte) {
	a, b := net.Pipe()
	go func() {
		_, _ = a.Write(slices.Concat(text...)) // the reader may close the connection early
		a.Close()
	}()
	c.Conn = b
}

func TestFramesCannotBeReplayed(t *testing.T) {
	member, coordinator := pair(t)
	frame := record(t, member, kindNews, []byte(`{}`))
	feed(coordinator, frame, frame)
	_, _, err := coordinator.receive(time.Second)
	require.NoError(t, err)
	_, _, err = coordinator.receive(time.Second)
	require.ErrorIs(t, err, ErrProtocol)

	_, other := pair(t)
	feed(other, frame)
	_, _, err = other.receive(time.Second)
	require.ErrorIs(t, err, ErrProtocol, "a frame of another connection is rejected")
}

func TestTokensMustMatch(t *testing.T) {
	for _, row := range []struct {
		member, coordinator string
		ok                  bool
	}{{secret, secret, true}, {secret, secret + "x", false}, {"", secret, false}, {secret, "", false}} {
		ours, theirs := net.Pipe()
		welcomed := make(chan error, 1)
		go func() {
			c, claimed, err := welcome(theirs, []byte(row.coordinator))
			if err != nil && c != nil {
				require.Equal(t, 5, claimed)
				_ = c.send(kindRefuse, nil)
			}
			welcomed <- err
		}()
		_, err := enter(ours, []byte(row.member), 5)
		if row.ok {
			require.NoError(t, err)
			require.NoError(t, <-welcomed)
		} else {
			require.ErrorIs(t, err, ErrToken)
			require.ErrorIs(t, <-welcomed, ErrToken)
		}
		ours.Close()
		theirs.Close()
	}
}

// TestTheTokenIsNotSent checks that the token is not in anything that either side writes.
func TestTheTokenIsNotSent(t *testing.T) {
	ours, theirs := net.Pipe()
	taps := [2]*tap{{Conn: ours}, {Conn: theirs}}
	go func() { _, _, _ = welcome(taps[1], []byte(secret)) }()
	c, err := enter(taps[0], []byte(secret), 0)
	require.NoError(t, err)
	go func() { _, _ = io.Copy(io.Discard, theirs) }()
	require.NoError(t, c.say(kindCard, card(0, 2)))
	ours.Close()
	for _, one := range taps {
		require.NotContains(t, string(one.written), secret)
		require.NotEmpty(t, one.written)
	}
}

// tap is a connection that records the bytes written to it.
type tap struct {
	net.Conn
	written []byte
}

func (t *tap) Write(p []byte) (int, error) {
	t.written = append(t.written, p...)
	return t.Conn.Write(p)
}

// TestAFakeCoordinatorIsNotBelieved checks that a member gives no card to a server at rank 0's
// address that lacks the token, and follows no order of it.
func TestAFakeCoordinatorIsNotBelieved(t *testing.T) {
	ours, theirs := net.Pipe()
	go func() {
		c := &conn{Conn: theirs}
		_ = c.send(kindHello, append([]byte(magic), make([]byte, nonceSize)...))
		_, _, _ = c.receive(time.Second)
		_ = c.send(kindProved, make([]byte, proofSize))
		theirs.Close()
	}()
	_, err := enter(ours, []byte(secret), 1)
	require.ErrorIs(t, err, ErrToken)
}
