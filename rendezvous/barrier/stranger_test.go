package barrier

import (
	"bytes"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// bother attacks the coordinator in several ways while members connect.
func bother(t *testing.T, address string) (stop func()) {
	done := make(chan struct{})
	var open []net.Conn
	dial := func() net.Conn {
		c, err := net.Dial("tcp", address)
		require.NoError(t, err)
		open = append(open, c)
		return c
	}
	for range 3 * Unproved { // connections that send nothing
		dial()
	}
	for _, text := range []string{
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"\xff\xff\xff\xff\xff\xff\xff\xff",
		string(appendHeader(nil, kindOrder, 1<<30)),
		string(appendHeader(nil, kindProve, 1<<30)),
		string(append(appendHeader(nil, kindProve, nonceSize+4+proofSize), bytes.Repeat([]byte{7}, nonceSize+4+proofSize)...)),
		string(append(appendHeader(nil, kindCard, 2), "{}"...)),
		string(append(appendHeader(nil, kindNews, 2), "{}"...)),
	} {
		_, err := io.WriteString(dial(), text)
		require.NoError(t, err)
	}
	slow := dial()
	gone := make(chan struct{})
	go func() { // one byte every 50 ms: the test is about slow writers
		defer close(gone)
		for _, b := range []byte(strings.Repeat(string(appendHeader(nil, kindProve, 200)), 50)) {
			select {
			case <-done:
				return
			case <-time.After(50 * time.Millisecond):
			}
			if _, err := slow.Write([]byte{b}); err != nil {
				return
			}
		}
	}()
	return func() {
		close(done)
		<-gone
		for _, c := range open {
			c.Close()
		}
	}
}

// TestStrangersChangeNothing checks that floods, garbage, huge frames and slow writers cost a
// limited number of goroutines, and that the barrier still completes.
func TestStrangersChangeNothing(t *testing.T) {
	const size = 5
	h := serve(t, size, nil)
	before := runtime.NumGoroutine()
	stop := bother(t, h.address)
	defer stop()
	eventually(t, "the flood is cut down", func() bool { return runtime.NumGoroutine() < before+2*(Unproved+size)+20 })
	for rank := range size {
		join(t, h.address, card(rank, size), secret)
	}
	require.Len(t, h.gather(t), size)
	for _, s := range h.Seats() {
		require.Empty(t, s.notes)
	}
}

// TestSilentStrangerIsDisconnected checks that a stranger that sends nothing is disconnected after
// a while, even if no other stranger needs its place.
func TestSilentStrangerIsDisconnected(t *testing.T) {
	h := serve(t, 2, nil)
	c, err := net.Dial("tcp", h.address)
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(handshakeTime+patience)))
	_, err = io.Copy(io.Discard, c)
	require.NoError(t, err, "the coordinator closes the connection")
}

func TestAnotherTokenIsNamedAndChangesNothing(t *testing.T) {
	h := serve(t, 3, nil)
	join(t, h.address, card(0, 3), secret)
	join(t, h.address, card(1, 3), secret)
	wrong := join(t, h.address, card(2, 3), "a token of another job")
	var refusal *Refusal
	require.ErrorAs(t, <-wrong.end, &refusal)
	require.Contains(t, refusal.Text, "rank 0 has another token")
	require.Contains(t, refusal.Hint, "same MUSTER_TOKEN")
	absent := h.missing(t, 200*time.Millisecond)
	require.Len(t, absent, 1)
	require.Equal(t, "rank 2: has not joined; a process at 127.0.0.1 that claims rank 2 has another token", absent[0].Sentence())
	for _, claimed := range []int{0, 7, 1 << 19} { // a taken seat, and seats that do not exist
		nc, err := net.Dial("tcp", h.address)
		require.NoError(t, err)
		_, err = enter(nc, []byte("another"), claimed)
		require.ErrorIs(t, err, ErrToken)
		nc.Close()
	}
	join(t, h.address, card(2, 3), secret)
	require.Len(t, h.gather(t), 3)
}
