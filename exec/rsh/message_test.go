package rsh

import (
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMessagesRoundTrip(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	text := func() string { return strings.Repeat("ä\x00\xff ", r.IntN(300)) }
	for range 200 {
		kind := []Kind{KindRun, KindHosts, KindStacks, KindDoctor, KindTop}[r.IntN(5)]
		q := Request{Host: text(), User: text(), Command: text(), NoStdin: r.IntN(2) == 0}
		frame := AppendRequest([]byte("before"), kind, q)[len("before"):]
		require.Equal(t, len(frame)-4, int(binary.BigEndian.Uint32(frame)))
		gotKind, got, err := ParseRequest(frame[4:])
		require.NoError(t, err)
		require.Equal(t, kind, gotKind)
		require.Equal(t, q, got)

		a := Reply{Code: r.IntN(256)}
		for range r.IntN(4) {
			a.Lines = append(a.Lines, text())
		}
		frame = AppendReply(nil, a)
		require.Equal(t, len(frame)-4, int(binary.BigEndian.Uint32(frame)))
		gotReply, err := ParseReply(frame[4:])
		require.NoError(t, err)
		require.Equal(t, a, gotReply)
	}
}

func TestMessagesCutShortAreMalformed(t *testing.T) {
	request := AppendRequest(nil, KindRun, Request{Host: "h", Command: "c"})[4:]
	reply := AppendReply(nil, Reply{Code: 200, Lines: []string{"line"}})[4:]
	for i := range request {
		_, _, err := ParseRequest(request[:i])
		require.ErrorIs(t, err, ErrMalformed)
	}
	for i := range reply {
		_, err := ParseReply(reply[:i])
		require.ErrorIs(t, err, ErrMalformed)
	}
	_, _, err := ParseRequest(append(request, 0))
	require.ErrorIs(t, err, ErrMalformed)
	_, err = ParseReply(append(reply, 0))
	require.ErrorIs(t, err, ErrMalformed)
	// In eight bits, 256 would be 0, which is success.
	_, err = ParseReply(AppendReply(nil, Reply{Code: 256})[4:])
	require.ErrorIs(t, err, ErrMalformed)
}

func FuzzMessages(f *testing.F) {
	f.Add(AppendRequest(nil, KindRun, Request{Host: "h", User: "u", Command: "c"})[4:])
	f.Add(AppendReply(nil, Reply{Code: 7, Lines: []string{"a", "b"}})[4:])
	f.Fuzz(func(t *testing.T, b []byte) {
		if kind, q, err := ParseRequest(b); err == nil {
			again, q2, err := ParseRequest(AppendRequest(nil, kind, q)[4:])
			require.NoError(t, err)
			require.Equal(t, kind, again)
			require.Equal(t, q, q2)
		}
		if r, err := ParseReply(b); err == nil {
			r2, err := ParseReply(AppendReply(nil, r)[4:])
			require.NoError(t, err)
			require.Equal(t, r, r2)
		}
	})
}
