//go:build linux

package network_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/network"
	"github.com/musterhq/muster/exec/secure"
	"github.com/musterhq/muster/exec/session"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/test/contract"
)

// taped records what a launcher sends.
type taped struct {
	net.Conn
	sent *bytes.Buffer
}

func (t taped) Write(p []byte) (int, error) {
	t.sent.Write(p)
	return t.Conn.Write(p)
}

// tape returns everything that a launcher of the job sends at its next dial, with HELLO.
func (w *world) tape(t *testing.T) []byte {
	t.Helper()
	var sent bytes.Buffer
	d := w.dialer(w.launcher)
	d.Connect = func(ctx context.Context, address string) (net.Conn, error) {
		nc, err := w.connect(ctx, address)
		return taped{nc, &sent}, err
	}
	c, err := d.Dial(t.Context())
	require.NoError(t, err)
	f, err := wire.Record(wire.Hello, 0, wire.HelloRecord{Probe: true})
	require.NoError(t, err)
	b, err := wire.Append(nil, f)
	require.NoError(t, err)
	_, err = c.Write(b)
	require.NoError(t, err)
	_, err = wire.NewReader(c).Next()
	require.NoError(t, err, "the worker answers the probe")
	c.Close()
	return sent.Bytes()
}

// hostile are the ways to attack a worker. Each makes one connection and returns when it is over.
func (w *world) hostile(t *testing.T) map[string]func(ctx context.Context) error {
	record := w.tape(t)
	rank := secure.NewLauncherKey() // stands for a rank, which has the worker's key and signs with its own
	stolen, err := secure.ParseLauncherKey(mixed(t, rank, w.key))
	require.NoError(t, err)
	raw := func(ctx context.Context, b []byte, stay bool) error {
		nc, err := net.Dial("tcp", w.address)
		if err != nil {
			return err
		}
		defer nc.Close()
		defer context.AfterFunc(ctx, func() { nc.Close() })()
		_, _ = nc.Write(b)
		if stay {
			_ = nc.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
			_, _ = io.Copy(io.Discard, nc)
		}
		return nil
	}
	dial := func(l *secure.Launcher, worker, uid string) func(context.Context) error {
		return func(ctx context.Context) error {
			d := w.dialer(l)
			d.Worker, d.UID = worker, uid
			if c, err := d.Dial(ctx); err == nil {
				c.Close()
				return fmt.Errorf("accepted for worker %s", worker)
			}
			return nil
		}
	}
	return map[string]func(context.Context) error{
		"garbage":                      func(ctx context.Context) error { return raw(ctx, bytes.Repeat([]byte("garbage "), 100), true) },
		"slow":                         func(ctx context.Context) error { return raw(ctx, record[:5], true) },
		"gone":                         func(ctx context.Context) error { return raw(ctx, nil, false) },
		"replayed":                     func(ctx context.Context) error { return raw(ctx, record, true) },
		"wrong pair":                   dial(w.launcherOf(t, rank, "pi", epoch), "w-0", "uid-0"),
		"wrong job":                    dial(w.launcherOf(t, w.key, "tau", epoch), "w-0", "uid-0"),
		"wrong worker":                 dial(w.launcherOf(t, w.key, "pi", epoch), "w-1", "uid-0"),
		"wrong pod":                    dial(w.launcherOf(t, w.key, "pi", epoch), "w-0", "uid-9"),
		"worker's key as a launcher's": dial(w.launcherOf(t, stolen, "pi", epoch), "w-0", "uid-0"),
	}
}

// mixed returns the text of a launcher's key that signs with the seed of one key, and has the secret
// of another.
func mixed(t *testing.T, sign, secret secure.LauncherKey) string {
	t.Helper()
	const prefix = "muster-launcher-key-1:"
	part := func(k secure.LauncherKey) []byte {
		b, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(strings.TrimPrefix(k.Text(), prefix), "\n"))
		require.NoError(t, err)
		return b
	}
	return prefix + base64.StdEncoding.EncodeToString(append(part(sign)[:32], part(secret)[32:]...))
}

// TestStrangersDoNotHarmTheJob attacks a worker while a session passes bytes in both directions.
func TestStrangersDoNotHarmTheJob(t *testing.T) {
	w := newWorld(t)
	worker := contract.NewWorker(t, func(cfg *session.Config) {
		cfg.Job = "pi"
		w.listen(t, cfg)
	})
	w.launcher = w.launcherOf(t, w.key, "pi", epoch)
	attacks := w.hostile(t)
	l := contract.NewLink(t, w.dialer(w.launcher), func(c *link.Config) { c.Hello.Job = "pi" })
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	in, feed := io.Pipe()
	h := sha256.New()
	s, err := l.Open(ctx, "", wire.Spec{Line: "echo started >>starts; cat; exit 7"}, link.Streams{Stdin: in, Stdout: h})
	require.NoError(t, err)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)

	total := 10_000
	if testing.Short() {
		total = 1_000
	}
	w.attack(t, ctx, attacks, total)
	sent := sha256.New()
	block := bytes.Repeat([]byte("job "), 4096)
	for range 200 {
		sent.Write(block)
		_, err := feed.Write(block)
		require.NoError(t, err)
	}
	require.NoError(t, feed.Close())
	rec, err := s.Wait(ctx)
	require.NoError(t, err)
	require.Equal(t, 7, rec.Code)
	require.Equal(t, sent.Sum(nil), h.Sum(nil))
	starts, err := os.ReadFile(worker.Dir + "/starts")
	require.NoError(t, err)
	require.Equal(t, "started\n", string(starts))
	require.Zero(t, l.State().Redials, "the launcher's connection was never closed")
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(8<<20))
}

// attack makes total connections, 32 at a time. It fails the test if one is accepted.
func (w *world) attack(t *testing.T, ctx context.Context, attacks map[string]func(context.Context) error, total int) {
	t.Helper()
	turns := make(chan func(context.Context) error)
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for one := range turns {
				if err := one(ctx); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for done := 0; done < total; {
		for _, one := range attacks {
			turns <- one
			done++
		}
	}
	close(turns)
	wg.Wait()
}

// TestHelloMustBeTheProvedLauncher checks that a launcher cannot claim the epoch or the job of
// another one after its proof.
func TestHelloMustBeTheProvedLauncher(t *testing.T) {
	for name, change := range map[string]func(*wire.HelloRecord){
		"epoch": func(h *wire.HelloRecord) { h.Epoch.Created++ },
		"job":   func(h *wire.HelloRecord) { h.Job = "tau" },
	} {
		w := newWorld(t)
		contract.NewWorker(t, func(cfg *session.Config) { w.listen(t, cfg) })
		l := link.New(link.Config{Worker: "w-0", Dialer: w.dialer(w.launcher), Hello: func() wire.HelloRecord {
			h := wire.HelloRecord{ProtoMin: wire.ProtoMin, ProtoMax: wire.ProtoMax, Epoch: epoch}
			change(&h)
			return h
		}()})
		err := l.Run(t.Context())
		require.ErrorContains(t, err, "proved to be another one", name)
	}
}

// TestAnotherProcessDoesNotTakeOver has a process with the worker's key answer at the worker's
// address, as a rank could if it got there.
func TestAnotherProcessDoesNotTakeOver(t *testing.T) {
	w := newWorld(t)
	contract.NewWorker(t, func(cfg *session.Config) { w.listen(t, cfg) })
	d := w.dialer(w.launcher)
	c, err := d.Dial(t.Context())
	require.NoError(t, err)
	c.Close()
	impostor := newWorld(t)
	impostor.key = w.key
	contract.NewWorker(t, func(cfg *session.Config) {
		cfg.Reaper = nil
		impostor.listen(t, cfg)
	})
	w.address = impostor.address
	_, err = d.Dial(t.Context())
	require.ErrorContains(t, err, "another process answers")
	require.True(t, network.Unproved(err))
	var de *link.DialError
	require.ErrorAs(t, err, &de)
	require.Equal(t, link.Server, de.Kind)
}

func TestDialSaysWhatIsWrong(t *testing.T) {
	w := newWorld(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w.address = ln.Addr().String()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, fmt.Errorf("no answer within 50ms"))
	defer cancel()
	_, err = w.dialer(w.launcher).Dial(ctx)
	require.ErrorContains(t, err, "no answer within 50ms", "a machine that accepts and is silent")
	require.False(t, network.Refused(err))
	require.NoError(t, ln.Close())
	_, err = w.dialer(w.launcher).Dial(t.Context())
	require.ErrorContains(t, err, "connection refused")
	require.True(t, network.Refused(err))
	require.False(t, network.Unproved(err))
}
