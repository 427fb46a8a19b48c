package secure

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// pair returns a sealed connection over the two ends of a pipe.
func pair(t testing.TB, near, far net.Conn) (launcher, worker *Conn) {
	t.Helper()
	e := newEnds(t)
	got := make(chan admitted, 1)
	go func() {
		c, claim, err := e.guard.Admit(far)
		got <- admitted{c, claim, err}
	}()
	launcher, _, err := e.launcher.Prove(near, "w-1", "uid-1")
	require.NoError(t, err)
	a := <-got
	require.NoError(t, a.err)
	t.Cleanup(func() { near.Close(); far.Close() })
	return launcher, a.conn
}

// noise returns n bytes that depend on seed only.
func bytesOf(seed uint64, n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}).Read(b)
	return b
}

// TestEveryByteOnce writes and reads pieces of random sizes, both ways at once.
func TestEveryByteOnce(t *testing.T) {
	near, far := net.Pipe()
	a, b := pair(t, near, far)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var wg sync.WaitGroup
	for i, way := range []struct{ from, to *Conn }{{a, b}, {b, a}} {
		sent := bytesOf(seed+uint64(i), 3<<20)
		rng, other := rand.New(rand.NewPCG(seed, uint64(i))), rand.New(rand.NewPCG(seed, uint64(i)+2))
		wg.Go(func() {
			for rest := sent; len(rest) > 0; {
				n := min(len(rest), rng.IntN([]int{2, 100, 5000, 100_000}[rng.IntN(4)]))
				if m, err := way.from.Write(rest[:n]); err != nil || m != n {
					t.Errorf("wrote %d of %d: %v", m, n, err)
					return
				}
				rest = rest[n:]
			}
		})
		wg.Go(func() {
			var got []byte
			for len(got) < len(sent) {
				p := make([]byte, 1+other.IntN([]int{1, 100, 5000, 100_000}[other.IntN(4)]))
				n, err := way.to.Read(p)
				if err != nil {
					t.Error(err)
					return
				}
				got = append(got, p[:n]...)
			}
			if !bytes.Equal(sent, got) {
				t.Error("the bytes differ")
			}
		})
	}
	wg.Wait()
}

func TestIdleConnectionsHoldNoLargeBuffer(t *testing.T) {
	near, far := net.Pipe()
	a, b := pair(t, near, far)
	go func() { _, _ = a.Write(make([]byte, 100_000)) }()
	_, err := io.ReadFull(b, make([]byte, 100_000))
	require.NoError(t, err)
	require.Nil(t, b.big)
	n, err := b.Read(nil)
	require.NoError(t, err)
	require.Zero(t, n)
}

func TestAReadGoesOnAfterItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		wire := &chopped{Conn: near}
		a, b := pair(t, wire, far)
		wire.pause = 2 * time.Second
		go func() { _, _ = a.Write(bytesOf(1, 5000)) }()
		p, have, late := make([]byte, 5000), 0, 0
		for have < len(p) {
			require.NoError(t, b.SetReadDeadline(time.Now().Add(time.Second)))
			n, err := b.Read(p[have:])
			have += n
			if err != nil {
				require.ErrorIs(t, err, os.ErrDeadlineExceeded)
				late++
			}
		}
		require.Equal(t, bytesOf(1, 5000), p)
		require.Positive(t, late)
	})
}

// chopped writes in three parts, with a pause before each.
type chopped struct {
	net.Conn
	pause time.Duration
}

func (c *chopped) Write(p []byte) (n int, err error) {
	for part := range 3 {
		time.Sleep(c.pause)
		m, err := c.Conn.Write(p[part*len(p)/3 : (part+1)*len(p)/3])
		if n += m; err != nil {
			return n, err
		}
	}
	return n, nil
}

func TestAWriteThatFailedIsTheLast(t *testing.T) {
	near, far := net.Pipe()
	a, _ := pair(t, near, far)
	require.NoError(t, a.SetWriteDeadline(time.Unix(1, 0)))
	_, err := a.Write([]byte("x"))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, a.SetWriteDeadline(time.Time{}))
	_, err = a.Write([]byte("x"))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded, "a part of a record may be on its way")
}

func TestCloseEndsARead(t *testing.T) {
	near, far := net.Pipe()
	a, b := pair(t, near, far)
	done := make(chan error, 1)
	go func() { _, err := b.Read(make([]byte, 1)); done <- err }()
	require.NoError(t, a.Close())
	require.ErrorIs(t, <-done, io.EOF)
	require.NoError(t, b.Close())
	_, err := b.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

// middle is a hostile way between two ends: it changes the n-th byte that passes.
type middle struct {
	net.Conn
	at     int
	change func(p []byte, i int) []byte
	passed int
}

func (m *middle) Write(p []byte) (int, error) {
	out := p
	if i := m.at - m.passed; i >= 0 && i < len(p) {
		out = m.change(append([]byte(nil), p...), i)
	}
	m.passed += len(p)
	if _, err := m.Conn.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

var changes = map[string]func(p []byte, i int) []byte{
	"flip":   func(p []byte, i int) []byte { p[i] ^= 0x10; return p },
	"drop":   func(p []byte, i int) []byte { return append(p[:i], p[i+1:]...) },
	"repeat": func(p []byte, i int) []byte { return append(p[:i+1], p[i:]...) },
	"again":  func(p []byte, _ int) []byte { return append(p, p...) },
	"lose":   func([]byte, int) []byte { return nil },
	"swap":   func(p []byte, i int) []byte { p[0], p[i] = p[i], p[0]; p[len(p)-1] ^= 1; return p },
}

// TestAHostileProxy changes what passes, at any byte of the handshake and of the records behind it.
// What is delivered must always be the beginning of what was sent.
func TestAHostileProxy(t *testing.T) {
	e := newEnds(t)
	sent := bytesOf(7, 300)
	step := 3
	if testing.Short() {
		step = 41
	}
	near, far := net.Pipe()
	got, back := tamper(t, e, near, far, sent, time.Minute)
	require.Equal(t, sent, got, "an honest proxy")
	require.Equal(t, sent, back, "an honest proxy")
	for name, change := range changes {
		for _, back := range []bool{false, true} {
			for at := 0; at < 700; at += step {
				near, far := net.Pipe()
				var end, other net.Conn = &middle{Conn: near, at: at, change: change}, far
				if back {
					end, other = near, &middle{Conn: far, at: at, change: change}
				}
				got, back := tamper(t, e, end, other, sent, 2*time.Millisecond)
				require.True(t, bytes.HasPrefix(sent, got), "%s at %d", name, at)
				require.True(t, bytes.HasPrefix(sent, back), "%s at %d, the other way", name, at)
			}
		}
	}
}

// tamper shakes hands and sends in three records each way. It returns what was delivered at each
// end. Deadlines end sides that wait for a byte that was dropped.
func tamper(t *testing.T, e ends, near, far net.Conn, sent []byte, patience time.Duration) (toWorker, toLauncher []byte) {
	t.Helper()
	run := func(nc net.Conn, shake func() (*Conn, error)) (got []byte) {
		defer nc.Close()
		_ = nc.SetDeadline(time.Now().Add(patience))
		c, err := shake()
		if err != nil {
			return nil
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			for i := range 3 {
				if _, err := c.Write(sent[i*100 : (i+1)*100]); err != nil {
					return
				}
			}
		})
		p := make([]byte, 64)
		for len(got) < len(sent) {
			n, err := c.Read(p)
			got = append(got, p[:n]...)
			if err != nil {
				break
			}
		}
		wg.Wait()
		return got
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		toWorker = run(far, func() (*Conn, error) { c, _, err := e.guard.Admit(far); return c, err })
	})
	toLauncher = run(near, func() (*Conn, error) { c, _, err := e.launcher.Prove(near, "w-1", "uid-1"); return c, err })
	wg.Wait()
	return toWorker, toLauncher
}

func TestRecordsAreNotReordered(t *testing.T) {
	near, far := net.Pipe()
	hold := &holding{Conn: near}
	a, b := pair(t, hold, far)
	hold.on = true
	for _, text := range []string{"one", "two"} {
		_, err := a.Write([]byte(text))
		require.NoError(t, err)
	}
	go func() { _, _ = near.Write(append(hold.held[1], hold.held[0]...)) }()
	_, err := b.Read(make([]byte, 8))
	require.ErrorIs(t, err, ErrRecord)
	_, err = b.Read(make([]byte, 8))
	require.ErrorIs(t, err, ErrRecord, "nothing after it is trusted")
}

// holding keeps what is written instead of passing it on.
type holding struct {
	net.Conn
	on   bool
	held [][]byte
}

func (h *holding) Write(p []byte) (int, error) {
	if !h.on {
		return h.Conn.Write(p)
	}
	h.held = append(h.held, append([]byte(nil), p...))
	return len(p), nil
}

func TestATruncatedRecordIsNoEnd(t *testing.T) {
	near, far := net.Pipe()
	_, b := pair(t, near, far)
	go func() {
		_, _ = near.Write([]byte{0, 40, 1, 2, 3})
		near.Close()
	}()
	_, err := b.Read(make([]byte, 8))
	require.True(t, errors.Is(err, io.ErrUnexpectedEOF), "%v", err)
}
