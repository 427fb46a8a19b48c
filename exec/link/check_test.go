//go:build linux

package link_test

import (
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/local"
	"github.com/musterhq/muster/exec/session"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/test/contract"
)

// TestFacts checks that a worker looks a program up as its sessions would.
func TestFacts(t *testing.T) {
	w := contract.NewWorker(t, func(c *session.Config) { c.Env, c.Dir = []string{"PATH=/bin"}, "/usr" })
	l := contract.NewLink(t, local.Dialer{Path: w.Socket}, nil)
	linked(t, l)
	f, err := l.Facts(ctxFor(t), wire.AskFactsRecord{Command: "sh", Versions: true})
	require.NoError(t, err)
	require.Equal(t, "/bin/sh", f.Program)
	require.Equal(t, "/usr", f.Disk.Path)
	require.NotEmpty(t, f.Versions["kernel"])

	f, err = l.Facts(ctxFor(t), wire.AskFactsRecord{Command: "no-such-program", Dir: "/tmp"})
	require.NoError(t, err)
	require.Contains(t, f.ProgramError, "no-such-program")
	require.Equal(t, "/tmp", f.Disk.Path)
}

// TestPairOfWorkers lets one worker measure the way to another one.
func TestPairOfWorkers(t *testing.T) {
	a, b := contract.NewWorker(t, nil), contract.NewWorker(t, nil)
	la, lb := contract.NewLink(t, local.Dialer{Path: a.Socket}, nil), contract.NewLink(t, local.Dialer{Path: b.Socket}, nil)
	linked(t, la)
	linked(t, lb)
	token := []byte("0123456789abcdef")
	port, err := lb.Listen(ctxFor(t), wire.AskListenRecord{Address: "127.0.0.1", Token: token, LifeMillis: 60_000})
	require.NoError(t, err)
	peer := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	found, err := la.Dial(ctxFor(t), wire.AskDialRecord{From: "127.0.0.1", Peers: []wire.PeerRecord{{Worker: "b", Address: peer}}, Token: token, TimeoutMillis: 2000, Bytes: 1000})
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, "b", found[0].Worker)
	require.Empty(t, found[0].Error)
	require.Equal(t, int64(1000), found[0].Bytes)

	_, err = lb.Listen(ctxFor(t), wire.AskListenRecord{Address: "pi-worker-0", Token: token})
	require.ErrorContains(t, err, "not an IP address")
	require.Eventually(t, func() bool { // the new question ended the old listener
		c, err := net.Dial("tcp", peer)
		if err == nil {
			c.Close()
		}
		return err != nil
	}, 10*time.Second, 10*time.Millisecond)
}

// TestListeningEndsInTime checks that a worker does not listen longer than it was told.
func TestListeningEndsInTime(t *testing.T) {
	w := contract.NewWorker(t, nil)
	l := contract.NewLink(t, local.Dialer{Path: w.Socket}, nil)
	linked(t, l)
	port, err := l.Listen(ctxFor(t), wire.AskListenRecord{Address: "127.0.0.1", Token: []byte("0123456789abcdef"), LifeMillis: 1})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			c.Close()
		}
		return err != nil
	}, 10*time.Second, 10*time.Millisecond)
}

// TestChecksOfAnOldWorker checks that a worker without Checks is not asked.
func TestChecksOfAnOldWorker(t *testing.T) {
	l := contract.NewLink(t, newScripted(wire.ProtoMax), quietly)
	linked(t, l)
	_, err := l.Facts(ctxFor(t), wire.AskFactsRecord{})
	require.ErrorIs(t, err, link.ErrNoChecks)
	_, err = l.Listen(ctxFor(t), wire.AskListenRecord{})
	require.ErrorIs(t, err, link.ErrNoChecks)
	_, err = l.Dial(ctxFor(t), wire.AskDialRecord{})
	require.ErrorIs(t, err, link.ErrNoChecks)
}
