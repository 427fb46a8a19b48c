package relay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func dialTCP(ctx context.Context, address string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}

// worker listens on the loopback, and serves each connection with each until the test ends.
func worker(t *testing.T, each func(net.Conn)) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				each(conn)
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		all.Wait()
	})
	return ln.Addr().String()
}

func echo(conn net.Conn) { _, _ = io.Copy(conn, conn) }

// fragile is a connection that can be cut, which its user sees as a reset.
type fragile struct {
	net.Conn
	isCut atomic.Bool
}

func (f *fragile) cut() {
	f.isCut.Store(true)
	f.Close()
}

func (f *fragile) Read(p []byte) (int, error) {
	n, err := f.Conn.Read(p)
	return n, f.seen(err)
}

func (f *fragile) Write(p []byte) (int, error) {
	n, err := f.Conn.Write(p)
	return n, f.seen(err)
}

func (f *fragile) seen(err error) error {
	if err != nil && f.isCut.Load() {
		return syscall.ECONNRESET
	}
	return err
}

// trunkOver returns a trunk to a relay that dials with dial. end waits for the relay's result.
func trunkOver(t *testing.T, dial func(context.Context, string) (net.Conn, error)) (trunk *Trunk, far *fragile, end func() error) {
	t.Helper()
	near, pipe := net.Pipe()
	far = &fragile{Conn: pipe}
	served := make(chan error, 1)
	go func() { served <- Serve(t.Context(), far, dial) }()
	trunk, err := NewTrunk(near)
	require.NoError(t, err)
	end = sync.OnceValue(func() error {
		trunk.Close()
		return <-served
	})
	t.Cleanup(func() { _ = end() })
	return trunk, far, end
}

func TestLanesCarryBytesBothWays(t *testing.T) {
	address := worker(t, echo)
	trunk, _, end := trunkOver(t, dialTCP)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			lane, err := trunk.Dial(t.Context(), address)
			if !errors.Is(err, nil) {
				t.Error(err)
				return
			}
			defer lane.Close()
			sent := bytes.Repeat([]byte{byte(i)}, 1<<20)
			go func() { _, _ = lane.Write(sent) }()
			got := make([]byte, len(sent))
			if _, err := io.ReadFull(lane, got); err != nil || !bytes.Equal(sent, got) {
				t.Errorf("lane %d: %v", i, err)
			}
		})
	}
	all.Wait()
	require.NoError(t, end())
}

// TestTrunkInATrunk reaches a worker through two relays.
func TestTrunkInATrunk(t *testing.T) {
	address := worker(t, echo)
	second := worker(t, func(conn net.Conn) { _ = Serve(t.Context(), conn, dialTCP) })
	first, _, _ := trunkOver(t, dialTCP)
	lane, err := first.Dial(t.Context(), second)
	require.NoError(t, err)
	trunk, err := NewTrunk(lane)
	require.NoError(t, err)
	defer trunk.Close()
	conn, err := trunk.Dial(t.Context(), address)
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte("through two"))
	require.NoError(t, err)
	got := make([]byte, 11)
	_, err = io.ReadFull(conn, got)
	require.NoError(t, err)
	require.Equal(t, "through two", string(got))
}

// TestStalledWorkerStopsNoOther fills the lane of a worker that does not read.
func TestStalledWorkerStopsNoOther(t *testing.T) {
	release := make(chan struct{})
	stalled := worker(t, func(net.Conn) { <-release })
	defer close(release)
	address := worker(t, echo)
	trunk, _, _ := trunkOver(t, dialTCP)
	full, err := trunk.Dial(t.Context(), stalled)
	require.NoError(t, err)
	defer full.Close()
	require.NoError(t, full.SetWriteDeadline(time.Now().Add(500*time.Millisecond)))
	_, err = full.Write(make([]byte, 64<<20))
	require.Error(t, err, "the windows are full")

	lane, err := trunk.Dial(t.Context(), address)
	require.NoError(t, err)
	defer lane.Close()
	_, err = lane.Write([]byte("x"))
	require.NoError(t, err)
	_, err = io.ReadFull(lane, make([]byte, 1))
	require.NoError(t, err)
}

func TestWorkerThatRefuses(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ln.Close()
	trunk, _, _ := trunkOver(t, dialTCP)
	_, err = trunk.Dial(t.Context(), ln.Addr().String())
	var refused *RefusedError
	require.ErrorAs(t, err, &refused)
	require.Contains(t, err.Error(), "connection refused")
	require.Equal(t, ln.Addr().String(), refused.Address)
}

func TestLongErrorsAreCut(t *testing.T) {
	trunk, _, _ := trunkOver(t, func(context.Context, string) (net.Conn, error) {
		return nil, errors.New(strings.Repeat("x", 1<<20))
	})
	_, err := trunk.Dial(t.Context(), "worker")
	var refused *RefusedError
	require.ErrorAs(t, err, &refused)
	require.Len(t, refused.Message, maxMessage)
}

func TestDialEndsWithItsContext(t *testing.T) {
	trunk, _, _ := trunkOver(t, func(ctx context.Context, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := trunk.Dial(ctx, "worker")
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// TestEndsOfALane closes a lane at either end. The other end sees it.
func TestEndsOfALane(t *testing.T) {
	closed := make(chan struct{})
	patient := worker(t, func(conn net.Conn) {
		_, _ = io.Copy(io.Discard, conn)
		close(closed)
	})
	hasty := worker(t, func(net.Conn) {})
	trunk, _, _ := trunkOver(t, dialTCP)
	lane, err := trunk.Dial(t.Context(), hasty)
	require.NoError(t, err)
	_, err = lane.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	require.NoError(t, lane.Close())

	lane, err = trunk.Dial(t.Context(), patient)
	require.NoError(t, err)
	require.NoError(t, lane.Close())
	<-closed
}

// TestCutTrunkEndsItsLanes breaks the connection to a relay.
func TestCutTrunkEndsItsLanes(t *testing.T) {
	gone := make(chan struct{})
	address := worker(t, func(conn net.Conn) {
		_, _ = io.Copy(io.Discard, conn)
		close(gone)
	})
	trunk, far, end := trunkOver(t, dialTCP)
	lane, err := trunk.Dial(t.Context(), address)
	require.NoError(t, err)
	far.cut()
	_, err = lane.Read(make([]byte, 1))
	require.Error(t, err)
	<-trunk.Done()
	<-gone
	_, err = trunk.Dial(t.Context(), address)
	require.Error(t, err)
	require.NotErrorAs(t, err, new(*RefusedError), "the relay is at fault, not the worker")
	require.ErrorIs(t, end(), syscall.ECONNRESET)
}

func TestTooManyLanes(t *testing.T) {
	address := worker(t, echo)
	trunk, _, _ := trunkOver(t, dialTCP)
	var lanes []net.Conn
	for range MaxLanes {
		lane, err := trunk.Dial(t.Context(), address)
		require.NoError(t, err)
		lanes = append(lanes, lane)
	}
	_, err := trunk.Dial(t.Context(), address)
	require.EqualError(t, err, fmt.Sprintf("relay to %s: more than %d lanes", address, MaxLanes))
	for _, lane := range lanes {
		lane.Close()
	}
}

// FuzzText reads what a peer may send in the place of an address or an answer.
func FuzzText(f *testing.F) {
	f.Add([]byte{0, 3, 'a', ':', '1'})
	f.Add([]byte{0xff, 0xff})
	f.Add([]byte{0})
	f.Fuzz(func(t *testing.T, data []byte) {
		text, err := readText(bytes.NewReader(data), maxAddress)
		if err != nil {
			return
		}
		var again bytes.Buffer
		require.NoError(t, writeText(&again, text))
		require.Equal(t, data[:again.Len()], again.Bytes())
	})
}

// TestGarbageOnATrunk sends bytes that are no frames.
func TestGarbageOnATrunk(t *testing.T) {
	near, far := net.Pipe()
	served := make(chan error, 1)
	go func() { served <- Serve(t.Context(), far, dialTCP) }()
	go func() { _, _ = io.Copy(io.Discard, near) }()
	_, _ = near.Write(bytes.Repeat([]byte{0xa5}, 64))
	require.Error(t, <-served)
	near.Close()
}

// TestCloseEndsAReadFromASilentRelay closes a lane of a relay from which nothing comes any more.
func TestCloseEndsAReadFromASilentRelay(t *testing.T) {
	silent := make(chan struct{})
	address := worker(t, func(conn net.Conn) {
		_, _ = conn.Write([]byte("x"))
		<-silent
	})
	near, far := net.Pipe()
	held := &muted{Conn: far}
	served := make(chan error, 1)
	go func() { served <- Serve(t.Context(), held, dialTCP) }()
	trunk, err := NewTrunk(near)
	require.NoError(t, err)
	lane, err := trunk.Dial(t.Context(), address)
	require.NoError(t, err)
	_, err = io.ReadFull(lane, make([]byte, 1))
	require.NoError(t, err)
	held.mute.Store(true)
	read := make(chan error, 1)
	go func() {
		_, err := lane.Read(make([]byte, 1))
		read <- err
	}()
	require.NoError(t, lane.Close())
	select {
	case err := <-read:
		require.Error(t, err)
	case <-time.After(4 * time.Second): // before the trunk notices the silence
		t.Error("Read does not end")
	}
	close(silent)
	trunk.Close()
	require.NoError(t, <-served)
}

// muted is a connection whose writes can be dropped.
type muted struct {
	net.Conn
	mute atomic.Bool
}

func (m *muted) Write(p []byte) (int, error) {
	if m.mute.Load() {
		return len(p), nil
	}
	return m.Conn.Write(p)
}

// TestEndOfATrunkWithManyLanes checks that lanes that wait for bytes end at once with their trunk, also on one
// processor. With yamux alone they keep it busy for a minute.
func TestEndOfATrunkWithManyLanes(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const many = 500
	address := worker(t, echo)
	for name, ends := range map[string]func(far *fragile){"closed": func(*fragile) {}, "cut": (*fragile).cut} {
		t.Run(name, func(t *testing.T) {
			trunk, far, end := trunkOver(t, dialTCP)
			read := make(chan error, many)
			for range many {
				lane, err := trunk.Dial(t.Context(), address)
				require.NoError(t, err)
				go func() {
					_, err := lane.Read(make([]byte, 1))
					read <- err
				}()
			}
			began := time.Now()
			ends(far)
			_ = end()
			for range many {
				require.ErrorIs(t, <-read, ErrEnded)
			}
			require.Less(t, time.Since(began), 10*time.Second)
		})
	}
}
