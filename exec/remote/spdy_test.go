package remote

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/moby/spdystream/spdy"
	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
)

// spdyPeer is the server's end of a connection. Its frames come from another implementation.
type spdyPeer struct {
	net.Conn
	*spdy.Framer
}

// spdyPair opens a connection. answered is the peer, which answers the requests.
func spdyPair(t *testing.T, answered func(peer spdyPeer)) (io.ReadWriteCloser, spdyPeer, error) {
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _ = theirs.Close() })
	framer, err := spdy.NewFramer(theirs, theirs)
	require.NoError(t, err)
	peer := spdyPeer{theirs, framer}
	done := make(chan struct{})
	go func() {
		defer close(done)
		answered(peer)
	}()
	conn, err := (&Dialer{target: target}).openSPDY(&line{}, ours)
	<-done
	if err == nil {
		t.Cleanup(func() { _ = conn.Close() })
	}
	return conn, peer, err
}

// accept reads the requested streams, and replies to each.
func accept(t *testing.T) func(spdyPeer) {
	return func(peer spdyPeer) {
		var asked []string
		opened := false
		defer func() {
			if !opened {
				_ = peer.Close()
			}
		}()
		for range spdyStreams {
			f, err := peer.ReadFrame()
			if err != nil {
				t.Error(err)
				return
			}
			open, ok := f.(*spdy.SynStreamFrame)
			if !ok {
				t.Errorf("%T", f)
				return
			}
			asked = append(asked, open.Headers.Get(headerStream))
			if int(open.StreamId) != 2*len(asked)-1 {
				t.Errorf("stream %d", open.StreamId)
			}
		}
		if got := strings.Join(asked, " "); got != "error stdin stdout stderr" {
			t.Error(got)
		}
		for id := spdy.StreamId(1); id < 8; id += 2 {
			if err := peer.WriteFrame(&spdy.SynReplyFrame{StreamId: id, Headers: http.Header{"A": {"b"}}}); err != nil {
				t.Error(err)
				return
			}
		}
		opened = true
	}
}

func TestSPDYCarriesBytesAndTheVerdict(t *testing.T) {
	conn, peer, err := spdyPair(t, accept(t))
	require.NoError(t, err)
	go func() {
		for _, f := range []spdy.Frame{
			&spdy.DataFrame{StreamId: streamStdout, Data: []byte("hel")},
			&spdy.WindowUpdateFrame{StreamId: streamStdin, DeltaWindowSize: 1},
			&spdy.SettingsFrame{},
			&spdy.HeadersFrame{StreamId: streamStdout, Headers: http.Header{"C": {"d"}}},
			&spdy.DataFrame{StreamId: streamStderr, Data: []byte("no socket")},
			&spdy.DataFrame{StreamId: 9, Data: []byte("of no stream")},
			&spdy.DataFrame{StreamId: streamStdout, Data: []byte("lo")},
			&spdy.DataFrame{StreamId: streamStdout, Flags: spdy.DataFlagFin, Data: []byte{}},
			&spdy.DataFrame{StreamId: streamStdout, Data: []byte("after the end")},
			&spdy.DataFrame{StreamId: streamError, Data: []byte(`{"status":"Failure","reason":"NonZeroExitCode",`)},
			&spdy.DataFrame{StreamId: streamError, Flags: spdy.DataFlagFin, Data: []byte(`"details":{"causes":[{"reason":"ExitCode","message":"3"}]}}`)},
		} {
			if err := peer.WriteFrame(f); err != nil {
				t.Error(err)
			}
		}
	}()
	got, failed := end(t, conn)
	require.Equal(t, "hello", got)
	require.ErrorContains(t, failed, "exited with code 3; its last output: no socket")
}

func TestSPDYWrites(t *testing.T) {
	conn, peer, err := spdyPair(t, accept(t))
	require.NoError(t, err)
	text := bytes.Repeat([]byte("0123456789"), 20_000)
	go func() {
		if n, err := conn.Write(text); err != nil || n != len(text) {
			t.Error(n, err)
		}
	}()
	var got []byte
	for len(got) < len(text) {
		f, err := peer.ReadFrame()
		require.NoError(t, err)
		data := f.(*spdy.DataFrame)
		require.EqualValues(t, streamStdin, data.StreamId)
		require.LessOrEqual(t, len(data.Data), writeChunk)
		got = append(got, data.Data...)
	}
	require.Equal(t, text, got)
}

// TestSPDYAnswersPings checks that a ping is answered. During a write, the answer is sent with the
// next write.
func TestSPDYAnswersPings(t *testing.T) {
	conn, peer, err := spdyPair(t, accept(t))
	require.NoError(t, err)
	go func() { _, _ = conn.Read(make([]byte, 1)) }()
	require.NoError(t, peer.WriteFrame(&spdy.PingFrame{Id: 2}))
	f, err := peer.ReadFrame()
	require.NoError(t, err)
	require.Equal(t, uint32(2), pingID(t, f))

	wrote := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := conn.Write([]byte("x"))
			wrote <- err
		}()
	}
	var head [spdyHeaderLen]byte
	_, err = io.ReadFull(peer.Conn, head[:4]) // the first write is in progress
	require.NoError(t, err)
	require.NoError(t, peer.WriteFrame(&spdy.PingFrame{Id: 4}))
	require.NoError(t, peer.WriteFrame(&spdy.PingFrame{Id: 5}), "the answer to a ping that was not sent")
	_, err = io.ReadFull(peer.Conn, make([]byte, 5))
	require.NoError(t, err)
	require.NoError(t, <-wrote)
	f, err = peer.ReadFrame()
	require.NoError(t, err)
	require.Equal(t, "x", string(f.(*spdy.DataFrame).Data))
	f, err = peer.ReadFrame()
	require.NoError(t, err)
	require.Equal(t, uint32(4), pingID(t, f))
	require.NoError(t, <-wrote)
}

func pingID(t *testing.T, f spdy.Frame) uint32 {
	ping, ok := f.(*spdy.PingFrame)
	require.True(t, ok, "%T", f)
	return ping.Id
}

func TestSPDYStreamsNotOpened(t *testing.T) {
	for name, answered := range map[string]func(spdyPeer){
		"closed before the requests": func(peer spdyPeer) { _ = peer.Close() },
		"closed after the requests":  func(peer spdyPeer) { _, _ = io.ReadFull(peer, make([]byte, len(openFrames()))); _ = peer.Close() },
		"stream reset": func(peer spdyPeer) {
			_, _ = io.ReadFull(peer, make([]byte, len(openFrames())))
			_ = peer.WriteFrame(&spdy.RstStreamFrame{StreamId: streamStdin, Status: spdy.RefusedStream})
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := spdyPair(t, answered)
			require.ErrorContains(t, err, "open streams: ")
		})
	}
}

// TestSPDYMissingVerdict checks that a connection ends if the server ends stdout and sends nothing
// more.
func TestSPDYMissingVerdict(t *testing.T) {
	conn, peer, err := spdyPair(t, accept(t))
	require.NoError(t, err)
	began := time.Now()
	go func() { _ = peer.WriteFrame(&spdy.RstStreamFrame{StreamId: streamStdout, Status: spdy.Cancel}) }()
	time.AfterFunc(100*time.Millisecond, func() { _ = peer.Close() }) // as if the connection were cut
	_, failed := end(t, conn)
	require.Equal(t, link.Dropped, failed.Kind)
	require.Less(t, time.Since(began), time.Minute)
}

// FuzzSPDY reads what a hostile server may send. Reading must end, with a cause.
func FuzzSPDY(f *testing.F) {
	frame := func(first, second uint32, rest ...byte) []byte {
		return append(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, first), second), rest...)
	}
	reply := frame(1<<31|3<<16|spdyReply, 4, 0, 0, 0, 1)
	f.Add(append(bytes.Repeat(reply, 4), frame(streamStdout, 3, 'a', 'b', 'c')...))
	f.Add(frame(streamStdout, 1<<24|3, 'a', 'b', 'c'))
	f.Add(append(frame(streamError, 1<<24|2, '{', '}'), frame(streamStdout, 1<<24)...))
	f.Add(append(bytes.Repeat(reply, 4), frame(1<<31|3<<16|spdyPing, 4, 0, 0, 0, 2)...))
	f.Add(frame(1<<31|3<<16|spdyReset, 8, 0, 0, 0, 5, 0, 0, 0, 1))
	f.Add(frame(streamError, 0xffffff, 'x'))
	f.Fuzz(func(t *testing.T, b []byte) {
		conn, err := (&Dialer{target: target}).openSPDY(&line{}, &scriptedRW{Reader: bytes.NewReader(b)})
		if err != nil {
			return
		}
		n, err := io.Copy(io.Discard, io.LimitReader(conn, 1<<20))
		require.LessOrEqual(t, n, int64(len(b)))
		var failed *link.DialError
		require.ErrorAs(t, err, &failed)
		require.NoError(t, conn.Close())
	})
}

// scriptedRW returns the bytes of its reader, and discards writes.
type scriptedRW struct{ *bytes.Reader }

func (*scriptedRW) Write(p []byte) (int, error) { return len(p), nil }
func (*scriptedRW) Close() error                { return nil }
