//go:build linux

package session

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
)

// FuzzConnection gives a whole connection of a hostile launcher, including HELLO, to a server that
// cannot start processes. The server must answer with whole frames, WELCOME or REFUSE first. It
// must report no process, and free everything.
func FuzzConnection(f *testing.F) {
	record := func(t wire.Type, ch uint32, v any) wire.Frame {
		fr, err := wire.Record(t, ch, v)
		require.NoError(f, err)
		return fr
	}
	add := func(frames ...wire.Frame) {
		var b []byte
		for _, fr := range frames {
			b, _ = wire.Append(b, fr)
		}
		f.Add(b)
	}
	hello := record(wire.Hello, 0, wire.HelloRecord{ProtoMin: wire.ProtoMin, ProtoMax: wire.ProtoMax, Epoch: wire.Epoch{Created: 1, UID: "a"}, RshAgent: "/x"})
	zip, err := wire.Pack("LONG=x")
	require.NoError(f, err)
	for _, spec := range []wire.Spec{{Line: "a", Packed: []*wire.Packed{zip}}, {Argv: []string{"true"}}, {Line: "exit 3", Stdin: true}, {Argv: []string{""}, Dir: "/none", Env: []string{"PATH=::/"}}} {
		add(hello, record(wire.Open, 1, wire.OpenRecord{ID: "s", Hash: spec.Hash(), Spec: &spec}),
			wire.Frame{Type: wire.Data, Channel: 1, Payload: []byte("x")}, wire.Frame{Type: wire.EOF, Channel: 1, Offset: 1},
			record(wire.Control, 1, wire.ControlRecord{Seq: 1, Signal: 9}), record(wire.Control, 1, wire.ControlRecord{Seq: 2, Stop: true, GraceMillis: 1 << 60}),
			wire.Frame{Type: wire.Ack, Stream: 1, Channel: 1}, wire.Frame{Type: wire.Close, Stream: 2, Channel: 1}, record(wire.Forget, 0, wire.ForgetRecord{ID: "s"}))
	}
	add(hello, wire.Frame{Type: wire.Ping, Offset: 7}, record(wire.Park, 0, wire.ParkRecord{LeaseSeconds: -1}))
	add(hello, record(wire.End, 0, wire.EndRecord{Keep: true, GraceMillis: -1}), wire.Frame{Type: wire.Ping})
	told := record(wire.Hello, 0, wire.HelloRecord{ProtoMin: wire.ProtoMin, ProtoMax: wire.ProtoMax, Reports: true, FrozenMillis: -1 << 63})
	add(told, record(wire.Open, 1, wire.OpenRecord{ID: "s", Hash: wire.Spec{Line: "a"}.Hash(), Spec: &wire.Spec{Line: "a"}}))
	add(record(wire.Hello, 0, wire.HelloRecord{ProtoMin: 900, ProtoMax: 901, Job: "other"}))
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	f.Fuzz(func(t *testing.T, b []byte) {
		reaper := reap.New()
		require.NoError(t, reaper.Run(ended)) // an ended Reaper starts no process
		s := New(Config{Job: "job", Reaper: reaper, Log: slog.New(slog.DiscardHandler), Dir: "/"})
		ours, theirs := pair(t)
		defer theirs.Close()
		ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
		defer stop()
		s.wg.Go(func() { s.serveConn(ctx, ours) })
		written := make(chan struct{})
		go func() {
			defer close(written)
			_, _ = theirs.Write(b) // the server may refuse before the end
			_ = theirs.CloseWrite()
		}()
		answers(t, theirs)
		<-written
		s.stops.rush()
		s.abandon()
		s.wg.Wait()
		require.NoError(t, ctx.Err(), "the server hangs")
		require.Zero(t, reaper.Running())
	})
}

// answers reads the server's frames until it closes.
func answers(t *testing.T, r io.Reader) {
	reader := wire.NewReader(r)
	for n := 0; ; n++ {
		fr, err := reader.Next()
		if err != nil {
			require.False(t, errors.Is(err, wire.ErrProtocol), "%v", err)
			return
		}
		if n == 0 {
			require.Contains(t, []wire.Type{wire.Welcome, wire.Refuse}, fr.Type)
		}
		if fr.Type == wire.Exit {
			var rec wire.ExitRecord
			require.NoError(t, fr.Decode(&rec))
			require.Contains(t, []int{126, 127}, rec.Code)
			require.NotEmpty(t, rec.Error)
			require.Zero(t, rec.Stdout+rec.Stderr)
		}
	}
}
