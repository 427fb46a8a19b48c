package listener

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/musterhq/muster/exec/secure"
	"github.com/musterhq/muster/exec/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pipes is a net.Listener whose connections are pipes, for tests in a bubble of synctest.
type pipes struct {
	queue  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.queue:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// connect returns the near end of a new connection.
func (p *pipes) connect() net.Conn {
	near, far := net.Pipe()
	p.queue <- far
	return near
}

// world is a Listener that serves.
type world struct {
	*pipes
	*Listener
	key   secure.LauncherKey
	log   *bytes.Buffer
	taken chan wire.Epoch
}

// serve runs fn with a Listener that serves, in a bubble of synctest.
func serve(t *testing.T, fn func(t *testing.T, w world)) {
	synctest.Test(t, func(t *testing.T) {
		w := world{pipes: &pipes{queue: make(chan net.Conn), closed: make(chan struct{})}, key: secure.NewLauncherKey(), log: &bytes.Buffer{}, taken: make(chan wire.Epoch, 8)}
		guard, err := secure.NewGuard(w.key.Worker(), "", secure.Answer{Worker: "w-0"})
		require.NoError(t, err)
		w.Listener = New(w.pipes, guard, slog.New(slog.NewTextHandler(w.log, nil)))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- w.Serve(ctx, func(nc net.Conn, _ string, epoch wire.Epoch) {
				w.taken <- epoch
				_, _ = io.Copy(io.Discard, nc)
			})
		}()
		fn(t, w)
		cancel()
		require.NoError(t, <-done)
	})
}

func (w world) held() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.strangers)
}

// closed reports whether the other end has closed c.
func closed(c net.Conn) bool {
	_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := c.Read(make([]byte, 1))
	return errors.Is(err, io.EOF)
}

func TestSilenceEndsAfterTheProofTime(t *testing.T) {
	serve(t, func(t *testing.T, w world) {
		c := w.connect()
		time.Sleep(ProofTime - time.Second)
		require.False(t, closed(c))
		time.Sleep(2 * time.Second)
		require.True(t, closed(c))
		require.Zero(t, w.held())
	})
}

// A stranger that sends a byte now and then gets no more time.
func TestTricklingGivesNoTime(t *testing.T) {
	serve(t, func(t *testing.T, w world) {
		c, began := w.connect(), time.Now()
		var err error
		for err == nil {
			_, err = c.Write([]byte("m"))
			time.Sleep(time.Second)
			if time.Since(began) > time.Minute {
				t.Fatal("it is still open")
			}
		}
		require.LessOrEqual(t, time.Since(began), ProofTime+2*time.Second)
	})
}

func TestTheOldestStrangerGoesFirst(t *testing.T) {
	serve(t, func(t *testing.T, w world) {
		var all []net.Conn
		for range MostUnproved {
			all = append(all, w.connect())
		}
		synctest.Wait()
		require.Equal(t, MostUnproved, w.held())
		for i := range 3 {
			all = append(all, w.connect())
			synctest.Wait()
			require.Equal(t, MostUnproved, w.held())
			require.True(t, closed(all[i]))
			require.False(t, closed(all[i+1]))
		}
	})
}

func TestALauncherIsNotClosedForStrangers(t *testing.T) {
	serve(t, func(t *testing.T, w world) {
		l, err := secure.NewLauncher(w.key, "", wire.Epoch{Created: 9})
		require.NoError(t, err)
		nc := w.connect()
		c, _, err := l.Prove(nc, "w-0", "")
		require.NoError(t, err)
		require.Equal(t, wire.Epoch{Created: 9}, <-w.taken)
		for range 3 * MostUnproved {
			w.connect()
		}
		time.Sleep(2 * ProofTime)
		_, err = c.Write([]byte("still here"))
		require.NoError(t, err)
		require.Zero(t, w.held())
	})
}

func TestStrangersGetOneLineAMinute(t *testing.T) {
	serve(t, func(t *testing.T, w world) {
		rude := func(n int) {
			for range n {
				c := w.connect()
				_, _ = c.Write([]byte("GET / HTTP/1.1\r\nevil=\"1\"\r\n\r\n")[:16])
			}
			synctest.Wait()
		}
		rude(100)
		require.Equal(t, 1, strings.Count(w.log.String(), "\n"))
		require.Contains(t, w.log.String(), "count=1 ")
		require.Contains(t, w.log.String(), "another protocol")
		require.NotContains(t, w.log.String(), "evil")
		time.Sleep(logEvery)
		rude(1)
		require.Equal(t, 2, strings.Count(w.log.String(), "\n"))
		require.Contains(t, w.log.String(), "count=100 ")
	})
}
