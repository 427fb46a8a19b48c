//go:build linux

package session

import (
	"bytes"
	"log/slog"
	"net"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
)

// pair returns both ends of a connection: the Server's end and its peer's.
func pair(f testing.TB) (*net.UnixConn, *net.UnixConn) {
	var ends [2]*net.UnixConn
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		f.Fatal(err)
	}
	for i, fd := range fds {
		file := os.NewFile(uintptr(fd), "pair")
		c, err := net.FileConn(file)
		file.Close()
		if err != nil {
			f.Fatal(err)
		}
		ends[i] = c.(*net.UnixConn)
	}
	return ends[0], ends[1]
}

// FuzzHandle gives hostile frames to a server with one session whose process has ended. No frame
// may crash or block the server, or make it hold more than the window. The server accepts no new
// sessions, so it runs nothing.
func FuzzHandle(f *testing.F) {
	add := func(frames ...wire.Frame) {
		var b []byte
		for _, fr := range frames {
			b, _ = wire.Append(b, fr)
		}
		f.Add(b)
	}
	record := func(t wire.Type, ch uint32, v any) wire.Frame {
		fr, err := wire.Record(t, ch, v)
		if err != nil {
			f.Fatal(err)
		}
		return fr
	}
	spec := wire.Spec{Argv: []string{"true"}}
	known := wire.Spec{}
	open := record(wire.Open, 1, wire.OpenRecord{ID: "s", Hash: known.Hash()})
	add(open, wire.Frame{Type: wire.Data, Channel: 1, Payload: []byte("x")}, wire.Frame{Type: wire.EOF, Channel: 1, Offset: 1})
	add(open, wire.Frame{Type: wire.Ack, Stream: 1, Channel: 1, Offset: 1 << 50}, wire.Frame{Type: wire.Close, Stream: 2, Channel: 1})
	add(open, record(wire.Control, 1, wire.ControlRecord{Seq: 1, Signal: 9}), record(wire.Forget, 0, wire.ForgetRecord{ID: "s"}))
	add(record(wire.Open, 2, wire.OpenRecord{ID: "new", Hash: spec.Hash(), Spec: &spec}), wire.Frame{Type: wire.Ping})
	add(record(wire.Ask, 0, wire.AskRecord{Seq: 1}), record(wire.Ask, 0, wire.AskRecord{Seq: 2}), wire.Frame{Type: wire.Ping})
	add(record(wire.Park, 0, wire.ParkRecord{LeaseSeconds: 1 << 62}), wire.Frame{Type: wire.Data, Channel: 7, Offset: 1 << 63})
	f.Fuzz(func(t *testing.T, b []byte) {
		s := New(Config{Reaper: reap.New(), Log: slog.New(slog.DiscardHandler)})
		ours, theirs := pair(t)
		defer theirs.Close()
		c := newConn(s, ours)
		defer c.close()
		x := s.newSession(wire.OpenRecord{ID: "s", Hash: known.Hash()})
		x.exit, x.phase = &wire.ExitRecord{}, ended
		s.sessions["s"], s.conn, s.claimed, s.ending = x, c, true, true
		go func() { _ = x.stdin.Run(discard{}) }()
		defer x.stdin.Abort()
		r := wire.NewReader(bytes.NewReader(b))
		for {
			fr, err := r.Next()
			if err != nil {
				break
			}
			if fr.Type == wire.End {
				continue // END scans /proc, too slow here; other tests cover it
			}
			if s.handle(c, fr) != nil {
				break
			}
		}
		if n, _ := x.stdout.Total(); n != 0 {
			t.Fatal("output without a process")
		}
	})
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
