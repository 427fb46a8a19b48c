package link_test

import (
	"context"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/wire"
)

// daemons is a worker on which each session ends at once and leaves a daemon behind.
type daemons struct {
	mu              sync.Mutex
	dialled, parked []time.Time
	after           []wire.Type // frames that arrived after a PARK
}

func (d *daemons) note(list *[]time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	*list = append(*list, time.Now())
}

// seen returns the times of the dials and of the PARK frames.
func (d *daemons) seen() (dialled, parked []time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.dialled), slices.Clone(d.parked)
}

// Dial implements link.Dialer.
func (d *daemons) Dial(context.Context) (io.ReadWriteCloser, error) {
	near, far := net.Pipe()
	d.note(&d.dialled)
	go func() {
		defer far.Close()
		reader, left := wire.NewReader(far), false
		for f, err := reader.Next(); err == nil; f, err = reader.Next() {
			if left {
				d.mu.Lock()
				d.after = append(d.after, f.Type)
				d.mu.Unlock()
			}
			if left = left || f.Type == wire.Park; f.Type == wire.Park {
				d.note(&d.parked)
			}
			for _, answer := range answers(f) {
				b, _ := wire.Append(nil, answer) // the frame is small and valid
				if _, err := far.Write(b); err != nil {
					return
				}
			}
		}
	}()
	return near, nil
}

func answers(f wire.Frame) []wire.Frame {
	record := func(t wire.Type, v any) wire.Frame {
		r, _ := wire.Record(t, f.Channel, v)
		return r
	}
	switch f.Type {
	case wire.Hello:
		return []wire.Frame{record(wire.Welcome, wire.WelcomeRecord{Proto: wire.ProtoMax, Version: "v", Instance: "i"})}
	case wire.Open:
		return []wire.Frame{record(wire.Opened, wire.OpenedRecord{}), {Type: wire.EOF, Stream: wire.Stdout, Channel: f.Channel},
			{Type: wire.EOF, Stream: wire.Stderr, Channel: f.Channel}, record(wire.Exit, wire.ExitRecord{Detached: true})}
	case wire.Ping:
		return []wire.Frame{{Type: wire.Pong, Offset: f.Offset}}
	}
	return nil
}

// launched returns a link that only a daemon needs. The link runs until the end of the test. A lease
// of 0 is the default.
func launched(t *testing.T, d *daemons, lease time.Duration) *link.Link {
	l := link.New(link.Config{Worker: "w-0", Dialer: d, Lease: lease})
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error)
	go func() { ran <- l.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ran)
	})
	synctest.Wait()
	s, err := l.Open(ctx, "", wire.Spec{Line: "orted --daemonize"}, link.Streams{})
	require.NoError(t, err)
	rec, err := s.Wait(ctx)
	require.NoError(t, err)
	require.True(t, rec.Detached)
	return l
}

// TestParkedStaysParked checks a link that only a daemon needs. It must be parked after a minute,
// and redialed only to renew its lease, which takes seconds.
func TestParkedStaysParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &daemons{}
		l := launched(t, d, 0)

		time.Sleep(66 * time.Second)
		require.True(t, l.State().Parked)
		time.Sleep(9 * time.Minute)
		dialled, _ := d.seen()
		require.Len(t, dialled, 1, "no redial was needed yet")
		time.Sleep(time.Hour)
		require.True(t, l.State().Parked)
		dialled, parked := d.seen()
		require.Len(t, dialled, 7, "one dial every ten minutes")
		require.Len(t, parked, 7)
		for i, at := range dialled[1:] {
			require.LessOrEqual(t, parked[i+1].Sub(at), 10*time.Second)
		}

		// After Wake, the link stays connected for a minute, because its caller may need it.
		woken := time.Now()
		l.Wake()
		time.Sleep(59 * time.Second)
		dialled, _ = d.seen()
		require.Len(t, dialled, 8)
		require.Equal(t, woken, dialled[7])
		require.True(t, l.State().Connected)
	})
}

// TestParkedKeepsAShortLease checks that a parked link is redialed within the launcher's own lease: if
// PARK is lost, the worker does not know that the link is parked.
func TestParkedKeepsAShortLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lease = 5 * time.Minute
		d := &daemons{}
		launched(t, d, lease)
		time.Sleep(time.Hour)
		dialled, parked := d.seen()
		require.Greater(t, len(dialled), 1)
		for i, at := range dialled[1:] {
			require.Less(t, at.Sub(parked[i]), lease, "since PARK, the last frame that may have arrived")
		}
	})
}

// TestSessionOpenedWhileParking checks that a session that is opened while the link parks does not
// wait until the lease is renewed.
func TestSessionOpenedWhileParking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opened := make(chan *link.Session, 1)
		d := &daemons{}
		l := launched(t, d, 0)
		go func() { // the first check after a minute parks the link
			time.Sleep(60 * time.Second)
			s, err := l.Open(t.Context(), "", wire.Spec{Line: "true"}, link.Streams{})
			if err == nil {
				opened <- s
			}
		}()
		s := <-opened
		began := time.Now()
		_, err := s.Wait(t.Context())
		require.NoError(t, err)
		require.Less(t, time.Since(began), time.Second)
		d.mu.Lock()
		defer d.mu.Unlock()
		require.Empty(t, d.after, "no frame may follow PARK")
	})
}
