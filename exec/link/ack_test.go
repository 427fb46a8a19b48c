package link_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/wire"
)

// talker is a worker that writes the frames that the test gives it. It passes on each OPEN, each FORGET unless
// forgets is nil, and the acknowledgements of standard output.
type talker struct {
	unpacks bool
	far     net.Conn
	acks    chan uint64
	opens   chan json.RawMessage
	forgets chan string // ids of sessions
}

// Dial implements link.Dialer.
func (w *talker) Dial(context.Context) (io.ReadWriteCloser, error) {
	near, far := net.Pipe()
	w.far = far
	go func() {
		reader := wire.NewReader(far)
		for {
			f, err := reader.Next()
			if err != nil {
				return
			}
			switch f.Type {
			case wire.Hello:
				w.record(wire.Welcome, 0, wire.WelcomeRecord{Proto: wire.ProtoMax, Instance: "i", Unpacks: w.unpacks})
			case wire.Open:
				w.record(wire.Opened, f.Channel, wire.OpenedRecord{})
				w.opens <- slices.Clone(f.Payload)
			case wire.Forget:
				var rec wire.ForgetRecord
				if f.Decode(&rec) == nil && w.forgets != nil {
					w.forgets <- rec.ID
				}
			case wire.Ack:
				w.acks <- f.Offset
			}
		}
	}()
	return near, nil
}

func (w *talker) record(t wire.Type, channel uint32, v any) {
	f, _ := wire.Record(t, channel, v) // the frame is small and valid
	w.frame(f)
}

func (w *talker) frame(f wire.Frame) {
	b, _ := wire.Append(nil, f) // the frame is small and valid
	_, _ = w.far.Write(b)       // the test notices the end of the link
}

// TestAcknowledgements checks that a few lines share an acknowledgement, one second after the first
// line. The end of the stream is acknowledged at once.
func TestAcknowledgements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &talker{acks: make(chan uint64, 100), opens: make(chan json.RawMessage, 1)}
		l := link.New(link.Config{Worker: "w-0", Dialer: w, PingEvery: time.Hour, DeadAfter: 2 * time.Hour})
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- l.Run(ctx) }()
		var out bytes.Buffer
		_, err := l.Open(ctx, "", wire.Spec{Line: "x"}, link.Streams{Stdout: &out})
		require.NoError(t, err)
		<-w.opens
		sent := uint64(0)
		say := func(n int) {
			w.frame(wire.Frame{Type: wire.Data, Stream: wire.Stdout, Channel: 1, Offset: sent, Payload: bytes.Repeat([]byte("x"), n)})
			sent += uint64(n)
			synctest.Wait()
		}
		for range 6 {
			say(10)
			time.Sleep(30 * time.Millisecond)
		}
		require.Equal(t, 60, out.Len())
		require.Empty(t, w.acks)
		time.Sleep(820 * time.Millisecond)
		synctest.Wait()
		require.EqualValues(t, 60, <-w.acks)
		require.Empty(t, w.acks)

		say(256 << 10)
		require.EqualValues(t, sent, <-w.acks, "many bytes are acknowledged at once")

		say(10)
		require.Empty(t, w.acks)
		w.frame(wire.Frame{Type: wire.EOF, Stream: wire.Stdout, Channel: 1, Offset: sent})
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		require.EqualValues(t, sent, <-w.acks)
		time.Sleep(time.Minute)
		require.Empty(t, w.acks)
		cancel()
		require.NoError(t, <-ran)
		_ = w.far.Close() // ends the worker's reader
	})
}
