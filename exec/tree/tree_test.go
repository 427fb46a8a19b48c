package tree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/musterhq/muster/exec/relay"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPositions(t *testing.T) {
	for _, c := range []struct{ position, parent int }{{0, launcher}, {63, launcher}, {64, 0}, {127, 0}, {128, 1}, {64 + 4096 - 1, 63}, {64 + 4096, 64}, {9999, 155}} {
		require.Equal(t, c.parent, parentOf(c.position, FanOut), c.position)
	}
	for _, n := range []int{1, 64, 65, 4160, 4161, 10000} {
		children := map[int]int{}
		for at := range n {
			parent := parentOf(at, FanOut)
			require.Less(t, parent, at)
			children[parent]++
			require.Equal(t, parent != launcher, parent != launcher && relays(parent, FanOut, n))
		}
		for at, count := range children {
			require.LessOrEqual(t, count, FanOut, "children of %d among %d", at, n)
		}
		for at := range n {
			require.Equal(t, children[at] > 0, relays(at, FanOut, n), "%d among %d", at, n)
		}
	}
}

func TestSiblings(t *testing.T) {
	for _, c := range []struct{ relay, n, want int }{
		{0, 65, launcher},                     // no other one is a relay
		{0, 200, 1}, {1, 200, 2}, {2, 200, 0}, // 0, 1 and 2 are
		{2, 256, 0}, {63, 5000, 0}, {64, 10000, 65}, {155, 10000, 64},
	} {
		require.Equal(t, c.want, siblingOf(c.relay, FanOut, c.n), "%d among %d", c.relay, c.n)
	}
}

// forest is a world of workers on the loopback. Each is a relay, and echoes the bytes of other connections.
type forest struct {
	t       *testing.T
	all     sync.WaitGroup
	workers map[string]*echoer
	dials   atomic.Int64 // without a relay
}

type echoer struct {
	ln    net.Listener
	mu    sync.Mutex
	conns map[net.Conn]bool
	dead  bool
}

// The first byte of a connection says what it is for.
const trunkByte, linkByte = 'T', 'L'

func plant(t *testing.T, n, fanOut int) (*forest, *Tree) {
	t.Helper()
	f := &forest{t: t, workers: map[string]*echoer{}}
	tree := New(0, func(ctx context.Context, address string) (net.Conn, error) {
		f.dials.Add(1)
		return dialTCP(ctx, address)
	}, func(ctx context.Context, w Worker, dial Dial) (io.ReadWriteCloser, error) {
		conn, err := dial(ctx, w.Address)
		if err == nil {
			_, err = conn.Write([]byte{trunkByte})
		}
		return conn, err
	})
	tree.fanOut = fanOut
	for i := range n {
		f.grow(fmt.Sprintf("w-%d", i), tree)
	}
	t.Cleanup(func() {
		tree.Close()
		for name := range f.workers {
			f.kill(name)
		}
		f.all.Wait()
	})
	return f, tree
}

func dialTCP(ctx context.Context, address string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}

func (f *forest) grow(name string, tree *Tree) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(f.t, err)
	e := &echoer{ln: ln, conns: map[net.Conn]bool{}}
	f.workers[name] = e
	f.all.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			f.all.Go(func() { e.serve(f.t.Context(), conn) })
		}
	})
	tree.Join(Worker{Name: name, Address: ln.Addr().String()})
}

func (e *echoer) serve(ctx context.Context, conn net.Conn) {
	e.mu.Lock()
	e.conns[conn] = true
	if e.dead {
		conn.Close()
	}
	e.mu.Unlock()
	defer func() {
		conn.Close()
		e.mu.Lock()
		delete(e.conns, conn)
		e.mu.Unlock()
	}()
	kind := make([]byte, 1)
	if _, err := io.ReadFull(conn, kind); err != nil {
		return
	}
	if kind[0] == trunkByte {
		_ = relay.Serve(ctx, conn, dialTCP)
		return
	}
	_, _ = io.Copy(conn, conn)
}

func (f *forest) kill(name string) {
	e := f.workers[name]
	e.ln.Close()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.dead = true
	for conn := range e.conns {
		conn.Close()
	}
}

func (e *echoer) connections() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.conns)
}

// reach dials a worker and has a byte echoed.
func reach(t *testing.T, tree *Tree, name string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	conn, err := tree.Dial(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := echoes(conn); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

func echoes(conn net.Conn) error {
	if _, err := conn.Write([]byte{linkByte, 'x'}); err != nil {
		return err
	}
	_, err := io.ReadFull(conn, make([]byte, 1))
	return err
}

// reachAll dials all workers at once.
func reachAll(t *testing.T, tree *Tree, n int) []net.Conn {
	t.Helper()
	conns := make([]net.Conn, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			var err error
			if conns[i], err = reach(t, tree, fmt.Sprintf("w-%d", i)); err != nil {
				t.Errorf("worker %d: %v", i, err)
			}
		})
	}
	all.Wait()
	t.Cleanup(func() {
		for _, c := range conns {
			if c != nil {
				c.Close()
			}
		}
	})
	return conns
}

// TestThreeLevels reaches all workers, and nobody holds more connections than the fan-out.
func TestThreeLevels(t *testing.T) {
	const n, fanOut = 100, 4
	f, tree := plant(t, n, fanOut)
	reachAll(t, tree, n)
	require.EqualValues(t, fanOut, f.dials.Load(), "the launcher's own connections")
	for name, e := range f.workers {
		require.LessOrEqual(t, e.connections(), 2, "%s: a trunk, and its own link", name)
	}
}

// TestDeadRelay kills a relay on the first level. The workers behind it are reached again through its
// sibling, which is the only other way that costs the launcher no connection.
func TestDeadRelay(t *testing.T) {
	const n, fanOut = 40, 4
	f, tree := plant(t, n, fanOut)
	conns := reachAll(t, tree, n)
	before := f.dials.Load()
	f.kill("w-1")
	for i, conn := range conns {
		if conn == nil || i == 1 {
			continue
		}
		top := i
		for top >= fanOut {
			top = parentOf(top, fanOut)
		}
		if top != 1 {
			require.NoError(t, echoes(conn), "worker %d is behind another relay", i)
			continue
		}
		require.Error(t, echoes(conn), "worker %d was behind the dead relay", i)
		again, err := reach(t, tree, fmt.Sprintf("w-%d", i))
		require.NoError(t, err, "worker %d", i)
		again.Close()
	}
	_, err := reach(t, tree, "w-1")
	require.Error(t, err)
	require.Less(t, f.dials.Load()-before, int64(fanOut*fanOut*2+4), "only attempts to reach the dead one are direct")
}

// TestReplacedWorker puts another worker in the place of one that left.
func TestReplacedWorker(t *testing.T) {
	const n, fanOut = 12, 4
	f, tree := plant(t, n, fanOut)
	reachAll(t, tree, n)
	f.kill("w-0")
	tree.Leave("w-0")
	_, err := reach(t, tree, "w-0")
	require.ErrorIs(t, err, errVacant)
	f.grow("w-new", tree)
	before := f.dials.Load()
	conn, err := reach(t, tree, "w-new")
	require.NoError(t, err)
	conn.Close()
	require.Equal(t, 0, tree.positions["w-new"], "the lowest free position")
	conn, err = reach(t, tree, "w-4")
	require.NoError(t, err)
	conn.Close()
	require.Equal(t, before+1, f.dials.Load(), "its trunk leads to itself and to the worker behind it")
}

// TestSilentRelay stalls the trunk of a relay: each way has its share of the time.
func TestSilentRelay(t *testing.T) {
	_, tree := plant(t, 6, 2)
	seal := tree.seal
	tree.seal = func(ctx context.Context, w Worker, dial Dial) (io.ReadWriteCloser, error) {
		if w.Name == "w-1" {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return seal(ctx, w, dial)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 900*time.Millisecond)
	defer cancel()
	conn, err := tree.Dial(ctx, "w-4") // behind w-1
	require.NoError(t, err)
	require.NoError(t, echoes(conn))
	conn.Close()
}

func TestClosedTree(t *testing.T) {
	_, tree := plant(t, 6, 2)
	reachAll(t, tree, 6)
	tree.Close()
	_, err := tree.Dial(t.Context(), "w-3")
	require.Error(t, err)
	require.True(t, errors.Is(err, errVacant) || errors.Is(err, net.ErrClosed))
}

// TestCanceledDial cancels a dial while it opens the trunk of a relay. The relay is not avoided afterwards: it did
// not fail.
func TestCanceledDial(t *testing.T) {
	_, tree := plant(t, 6, 2)
	seal := tree.seal
	ctx, cancel := context.WithCancel(t.Context())
	tree.seal = func(ctx context.Context, _ Worker, _ Dial) (io.ReadWriteCloser, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	_, err := tree.Dial(ctx, "w-4") // behind w-1
	require.ErrorIs(t, err, context.Canceled)
	tree.seal = seal
	conn, err := reach(t, tree, "w-4")
	require.NoError(t, err)
	conn.Close()
	require.NotNil(t, tree.places[1].trunk, "the way leads through w-1")
}

// stuck is a trunk's connection that takes time to close, because its own relay takes no bytes.
type stuck struct {
	net.Conn
	closing, release chan struct{}
}

func (s stuck) Close() error {
	close(s.closing)
	<-s.release
	return s.Conn.Close()
}

// TestTrunkThatClosesSlowly replaces a relay whose trunk takes time to close. Other workers are dialed
// meanwhile.
func TestTrunkThatClosesSlowly(t *testing.T) {
	_, tree := plant(t, 6, 2)
	seal, slow := tree.seal, stuck{closing: make(chan struct{}), release: make(chan struct{})}
	tree.seal = func(ctx context.Context, w Worker, dial Dial) (io.ReadWriteCloser, error) {
		conn, err := seal(ctx, w, dial)
		if err != nil || w.Name != "w-0" {
			return conn, err
		}
		slow.Conn = conn.(net.Conn)
		return slow, nil
	}
	conn, err := reach(t, tree, "w-2") // through w-0
	require.NoError(t, err)
	defer conn.Close()
	replaced, reached := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(replaced)
		tree.Join(Worker{Name: "w-0", Address: "127.0.0.1:1"})
	}()
	<-slow.closing
	go func() {
		conn, err := reach(t, tree, "w-1")
		if err == nil {
			conn.Close()
		}
		reached <- err
	}()
	select {
	case err := <-reached:
		require.NoError(t, err)
	case <-time.After(10 * time.Second):
		t.Error("no other worker can be dialed")
	}
	close(slow.release)
	<-replaced
}
