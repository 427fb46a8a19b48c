package secure

import (
	"crypto/ed25519"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/wire"
)

var epoch = wire.Epoch{Created: 17, Restarts: 2, UID: "launcher-uid", Started: 23}

// ends are the two ends of a job whose keys fit.
type ends struct {
	key      LauncherKey
	launcher *Launcher
	guard    *Guard
}

func newEnds(t testing.TB) ends {
	t.Helper()
	e := ends{key: NewLauncherKey()}
	e.launcher = launcherOf(t, e.key, "pi")
	var err error
	e.guard, err = NewGuard(e.key.Worker(), "pi", Answer{Worker: "w-1", UID: "uid-1", Instance: "first"})
	require.NoError(t, err)
	return e
}

func launcherOf(t testing.TB, key LauncherKey, job string) *Launcher {
	t.Helper()
	l, err := NewLauncher(key, job, epoch)
	require.NoError(t, err)
	return l
}

// admitted is what Admit returned.
type admitted struct {
	conn  *Conn
	claim Claim
	err   error
}

// meet runs both halves of a handshake over a pipe, each of which ends the pipe if it fails.
func meet(t testing.TB, l *Launcher, g *Guard, worker, uid string) (*Conn, Answer, admitted, error) {
	t.Helper()
	near, far := net.Pipe()
	t.Cleanup(func() { near.Close(); far.Close() })
	got := make(chan admitted, 1)
	go func() {
		c, claim, err := g.Admit(far)
		if err != nil {
			far.Close()
		}
		got <- admitted{c, claim, err}
	}()
	c, a, err := l.Prove(near, worker, uid)
	if err != nil {
		near.Close()
	}
	return c, a, <-got, err
}

func TestBothSidesKnowEachOther(t *testing.T) {
	e := newEnds(t)
	c, a, got, err := meet(t, e.launcher, e.guard, "w-1", "uid-1")
	require.NoError(t, err)
	require.NoError(t, got.err)
	require.Equal(t, Answer{Worker: "w-1", UID: "uid-1", Instance: "first"}, a)
	require.Equal(t, Claim{Job: "pi", Epoch: epoch, Worker: "w-1", UID: "uid-1"}, got.claim)
	require.Equal(t, e.guard.static.PublicKey().Bytes(), c.Peer())
	require.Equal(t, e.launcher.static.PublicKey().Bytes(), got.conn.Peer())
	go func() { _, _ = c.Write([]byte("hello")) }()
	b := make([]byte, 16)
	n, err := got.conn.Read(b)
	require.NoError(t, err)
	require.Equal(t, "hello", string(b[:n]))
	again, _, _, err := meet(t, e.launcher, e.guard, "w-1", "")
	require.NoError(t, err, "a launcher that does not know the uid")
	require.Equal(t, c.Peer(), again.Peer(), "a process keeps its key")
}

func TestNobodyElseIsAnswered(t *testing.T) {
	e := newEnds(t)
	forger := NewLauncherKey() // a rank: it has the worker's key, so the secret, but cannot sign
	forger.secret = e.key.Worker().secret
	stranger := NewLauncherKey()
	for name, tc := range map[string]struct {
		launcher    *Launcher
		worker, uid string
		want        error
	}{
		"another pair":                 {launcherOf(t, stranger, "pi"), "w-1", "uid-1", ErrStranger},
		"a rank with the worker's key": {launcherOf(t, forger, "pi"), "w-1", "uid-1", ErrClaim},
		"another job":                  {launcherOf(t, e.key, "tau"), "w-1", "uid-1", ErrClaim},
		"another worker":               {e.launcher, "w-2", "uid-1", ErrClaim},
		"an earlier pod of that name":  {e.launcher, "w-1", "uid-0", ErrClaim},
		"a name longer than any":       {e.launcher, string(make([]byte, 256)), "", nil},
	} {
		c, _, got, err := meet(t, tc.launcher, e.guard, tc.worker, tc.uid)
		require.Error(t, err, name)
		require.Nil(t, c, name)
		require.Error(t, got.err, name)
		require.Nil(t, got.conn, name)
		if tc.want != nil {
			require.ErrorIs(t, got.err, tc.want, name)
			require.ErrorIs(t, err, ErrRefused, "%s: the worker says nothing", name)
		}
	}
}

// A rank may take a claim that the launcher has signed, since it has the secret, but not the
// launcher's X25519 key.
func TestAClaimIsBoundToTheKeyThatSignedIt(t *testing.T) {
	e := newEnds(t)
	claim, err := Claim{Job: "pi", Epoch: epoch, Worker: "w-1"}.sign(e.key, e.launcher.static.PublicKey().Bytes())
	require.NoError(t, err)
	_, err = verify(e.key.Worker(), claim, launcherOf(t, e.key, "pi").static.PublicKey().Bytes())
	require.ErrorIs(t, err, ErrClaim)
	_, err = verify(e.key.Worker(), claim, e.launcher.static.PublicKey().Bytes())
	require.NoError(t, err)
	for i := range claim {
		bad := append([]byte(nil), claim...)
		bad[i] ^= 1
		_, err := verify(e.key.Worker(), bad, e.launcher.static.PublicKey().Bytes())
		require.ErrorIs(t, err, ErrClaim, "byte %d", i)
	}
	_, err = verify(e.key.Worker(), claim[:ed25519.SignatureSize-1], nil)
	require.ErrorIs(t, err, ErrClaim)
}

func TestTheWorkerMustBeTheOneThatWasDialed(t *testing.T) {
	e := newEnds(t)
	for name, self := range map[string]Answer{"another name": {Worker: "w-2"}, "another uid": {Worker: "w-1", UID: "uid-9"}} {
		near, far := net.Pipe()
		done := make(chan struct{})
		go func() {
			defer close(done)
			g, err := NewGuard(e.key.Worker(), "", self)
			if err == nil {
				g.self = self
				_, _ = forced(g, far)
			}
			far.Close()
		}()
		_, _, err := e.launcher.Prove(near, "w-1", "uid-1")
		require.ErrorIs(t, err, ErrClaim, name)
		near.Close()
		<-done
	}
}

// forced is Admit without its judgment of the claim, as a hostile worker would answer.
func forced(g *Guard, nc net.Conn) (*Conn, error) {
	_, err := io.ReadFull(nc, make([]byte, len(preface)))
	if err != nil {
		return nil, err
	}
	m, err := readMessage(nc)
	if err != nil {
		return nil, err
	}
	hs, err := handshake(false, g.static, g.key.secret)
	if err != nil {
		return nil, err
	}
	if _, _, _, err = hs.ReadMessage(nil, m); err != nil {
		return nil, err
	}
	return g.answer(nc, hs)
}

// recorder keeps what the launcher has written.
type recorder struct {
	net.Conn
	wrote []byte
}

func (r *recorder) Write(p []byte) (int, error) {
	r.wrote = append(r.wrote, p...)
	return r.Conn.Write(p)
}

// TestAReplayOpensNothing repeats everything that a launcher has sent, as an observer could.
func TestAReplayOpensNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnds(t)
		near, far := net.Pipe()
		r := &recorder{Conn: near}
		got := make(chan *Conn, 1)
		go func() {
			c, _, _ := e.guard.Admit(far)
			_, _ = c.Read(make([]byte, 64))
			got <- c
		}()
		c, _, err := e.launcher.Prove(r, "w-1", "uid-1")
		require.NoError(t, err)
		_, err = c.Write([]byte("HELLO"))
		require.NoError(t, err)
		require.NotNil(t, <-got)
		near.Close()
		far.Close()
		first := len(preface) + 2 + int(r.wrote[len(preface)])<<8 + int(r.wrote[len(preface)+1])
		for name, bytes := range map[string][]byte{"the first message": r.wrote[:first], "everything": r.wrote} {
			near, far := net.Pipe()
			require.NoError(t, far.SetDeadline(time.Now().Add(10*time.Second)))
			over := make(chan admitted, 1)
			go func() {
				c, claim, err := e.guard.Admit(far)
				far.Close()
				over <- admitted{c, claim, err}
			}()
			go func() { _, _ = io.Copy(io.Discard, near) }()
			_, _ = near.Write(bytes)
			a := <-over
			require.Error(t, a.err, name)
			require.Nil(t, a.conn, name)
			near.Close()
		}
	})
}

func TestProveEndsAtItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnds(t)
		near, far := net.Pipe()
		defer far.Close()
		defer near.Close()
		go func() { _, _ = io.Copy(io.Discard, far) }()
		require.NoError(t, near.SetDeadline(time.Now().Add(time.Second)))
		_, _, err := e.launcher.Prove(near, "w-1", "")
		var timeout net.Error
		require.ErrorAs(t, err, &timeout)
		require.True(t, timeout.Timeout())
		require.NotErrorIs(t, err, ErrRefused, "silence is no refusal")
	})
}
