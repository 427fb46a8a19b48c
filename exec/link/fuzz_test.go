//go:build linux

package link_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/wire"
)

// script is a connection that returns the given bytes of a worker and discards the launcher's
// bytes. At its end it reports that the worker is lost.
type script struct{ *bytes.Reader }

func (s script) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil {
		return n, &link.DialError{Kind: link.Gone, Err: errors.New("end of the script")}
	}
	return n, nil
}

func (script) Write(p []byte) (int, error) { return len(p), nil }
func (script) Close() error                { return nil }

type counter struct{ n atomic.Uint64 }

func (c *counter) Write(p []byte) (int, error) {
	c.n.Add(uint64(len(p)))
	return len(p), nil
}

// FuzzWorker gives a link with one session arbitrary bytes of a hostile worker. The link must end.
// A session that ended well must have written as many bytes as its record counts.
func FuzzWorker(f *testing.F) {
	record := func(t wire.Type, ch uint32, v any) wire.Frame {
		fr, err := wire.Record(t, ch, v)
		if err != nil {
			f.Fatal(err)
		}
		return fr
	}
	add := func(frames ...wire.Frame) {
		var b []byte
		for _, fr := range frames {
			b, _ = wire.Append(b, fr)
		}
		f.Add(b)
	}
	welcome := record(wire.Welcome, 0, wire.WelcomeRecord{Proto: wire.ProtoMax, Instance: "i", Sessions: []string{"s", "t"}})
	opened := record(wire.Opened, 1, wire.OpenedRecord{Created: true})
	data := wire.Frame{Type: wire.Data, Stream: wire.Stdout, Channel: 1, Payload: []byte("out")}
	end := wire.Frame{Type: wire.EOF, Stream: wire.Stdout, Channel: 1, Offset: 3}
	end2 := wire.Frame{Type: wire.EOF, Stream: wire.Stderr, Channel: 1}
	add(welcome, opened, data, end, end2, record(wire.Exit, 1, wire.ExitRecord{Stdout: 3}))
	add(welcome, record(wire.Exit, 1, wire.ExitRecord{Code: 3, Stdout: 1 << 63, Detached: true}), data)
	add(welcome, opened, wire.Frame{Type: wire.Ack, Channel: 1, Offset: 1 << 60}, wire.Frame{Type: wire.Pong, Offset: 9})
	add(welcome, record(wire.Opened, 1, wire.OpenedRecord{Stdin: 1 << 62, Control: 7}), wire.Frame{Type: wire.Ended})
	add(welcome, record(wire.Opened, 1, wire.OpenedRecord{Error: wire.OpenUnknown, Message: "no"}))
	add(record(wire.Refuse, 0, wire.RefuseRecord{Reason: wire.RefuseEnding, Message: "no"}))
	add(welcome, opened, record(wire.Report, 0, wire.ReportRecord{Seq: 1, Session: "s", Kind: wire.ReportRank, Code: 3}), data)
	add(welcome, opened, record(wire.Answer, 0, wire.AnswerRecord{Seq: 1, Sessions: []wire.SessionRecord{{ID: "s", Processes: []wire.ProcessRecord{{PID: -1}}}}}), data)
	f.Fuzz(func(t *testing.T, b []byte) {
		synctest.Test(t, func(t *testing.T) { hostile(t, b) }) // pauses between dials take no real time
	})
}

func hostile(t *testing.T, b []byte) {
	first := true
	l := link.New(link.Config{Worker: "w-0", Dialer: dialFunc(func(context.Context) (io.ReadWriteCloser, error) {
		if !first {
			return nil, &link.DialError{Kind: link.Gone}
		}
		first = false
		return script{bytes.NewReader(b)}, nil
	})})
	var stdout, stderr counter
	s, err := l.Open(t.Context(), "s", wire.Spec{Argv: []string{"true"}}, link.Streams{Stdout: &stdout, Stderr: &stderr})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	_ = l.Run(ctx) // the reason for its end does not matter
	require.NoError(t, ctx.Err(), "the link did not end")
	rec, err := s.Wait(ctx)
	require.NoError(t, ctx.Err(), "the session did not end")
	if err == nil {
		require.Equal(t, rec.Stdout, stdout.n.Load())
		require.Equal(t, rec.Stderr, stderr.n.Load())
	}
}
