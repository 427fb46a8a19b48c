//go:build linux

package link_test

import (
	"context"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/local"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/test/contract"
)

// TestAsk checks what a worker reports about a rank that reads.
func TestAsk(t *testing.T) {
	w := contract.NewWorker(t, nil)
	l := contract.NewLink(t, local.Dialer{Path: w.Socket}, nil)
	linked(t, l)
	answer, err := l.Ask(ctxFor(t))
	require.NoError(t, err)
	require.Equal(t, wire.AnswerRecord{Seq: 1}, answer)

	in, typed := io.Pipe()
	s, err := l.Open(ctxFor(t), "", wire.Spec{Argv: []string{"/bin/sh", "-c", "cat; true"}, Env: []string{"RANK=3"}}, link.Streams{Stdin: in, Stdout: io.Discard})
	require.NoError(t, err)
	var cat, shell wire.ProcessRecord
	require.Eventually(t, func() bool {
		answer, err := l.Ask(ctxFor(t))
		require.NoError(t, err)
		require.Len(t, answer.Sessions, 1)
		require.Equal(t, s.ID(), answer.Sessions[0].ID)
		for _, p := range answer.Sessions[0].Processes {
			switch p.Command {
			case "cat":
				cat = p
			case "sh":
				shell = p
			}
		}
		return cat.Call == "read" && cat.State == "S" && shell.Call == "wait4"
	}, 10*time.Second, 20*time.Millisecond)
	require.Equal(t, shell.PID, cat.Parent)
	require.Equal(t, "3", cat.Rank)
	require.Equal(t, 1, cat.Threads)
	require.Positive(t, cat.Start)
	require.Positive(t, cat.Moved)
	require.False(t, cat.Refused)
	require.NoError(t, typed.Close())
	_, err = s.Wait(ctxFor(t))
	require.NoError(t, err)
}

// TestAskReportsUnreadOutput checks that a worker reports unread output, because a rank may be
// waiting for the launcher's own reader.
func TestAskReportsUnreadOutput(t *testing.T) {
	w := contract.NewWorker(t, nil)
	l := contract.NewLink(t, local.Dialer{Path: w.Socket}, nil)
	linked(t, l)
	r, out := io.Pipe()
	s, err := l.Open(ctxFor(t), "", wire.Spec{Line: "echo 12345; sleep 100"}, link.Streams{Stdout: out})
	require.NoError(t, err)
	unread := func() uint64 {
		answer, err := l.Ask(ctxFor(t))
		require.NoError(t, err)
		require.Len(t, answer.Sessions, 1)
		return answer.Sessions[0].Unread
	}
	require.Eventually(t, func() bool { return unread() == 6 }, 10*time.Second, 20*time.Millisecond)
	go func() { _, _ = io.Copy(io.Discard, r) }()
	require.Eventually(t, func() bool { return unread() == 0 }, 10*time.Second, 20*time.Millisecond)
	s.Stop(0)
	_, err = s.Wait(ctxFor(t))
	require.NoError(t, err)
	require.NoError(t, out.Close())
}

// TestAskOldWorker checks that a worker without Answers is not asked.
func TestAskOldWorker(t *testing.T) {
	l := contract.NewLink(t, newScripted(wire.ProtoMax), quietly)
	linked(t, l)
	_, err := l.Ask(ctxFor(t))
	require.ErrorIs(t, err, link.ErrNoAnswers)
}

// TestAskParked checks that Ask redials a parked link.
func TestAskParked(t *testing.T) {
	w := contract.NewWorker(t, nil)
	l := contract.NewLink(t, local.Dialer{Path: w.Socket}, func(c *link.Config) { c.PingEvery, c.ParkAfter = 50*time.Millisecond, time.Second })
	s, err := l.Open(ctxFor(t), "", wire.Spec{Line: "sleep 100 </dev/null >/dev/null 2>&1 &"}, link.Streams{})
	require.NoError(t, err)
	_, err = s.Wait(ctxFor(t))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return l.State().Parked }, 10*time.Second, 10*time.Millisecond)
	answer, err := l.Ask(ctxFor(t))
	require.NoError(t, err)
	require.Len(t, answer.Sessions, 1)
	require.Len(t, answer.Sessions[0].Processes, 1)
	require.Equal(t, "sleep", answer.Sessions[0].Processes[0].Command)
}

// TestAskWhileDown checks that Ask waits for the link. At the end of its context, the error is that
// the link is down.
func TestAskWhileDown(t *testing.T) {
	l := contract.NewLink(t, local.Dialer{Path: filepath.Join(t.TempDir(), "nobody.sock")}, nil)
	ctx, cancel := context.WithTimeout(ctxFor(t), 300*time.Millisecond)
	defer cancel()
	_, err := l.Ask(ctx)
	require.ErrorContains(t, err, "the link is down: ")
}
