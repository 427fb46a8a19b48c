//go:build linux

package link_test

import (
	"bytes"
	"io"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/local"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/test/contract"
)

// said collects the output of a session.
type said struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

func (s *said) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

// TestEndRanks checks that a worker sends the signal to ranks that handle it, once for each number,
// and reports when these ranks have ended. Other ranks and helpers get no signal.
func TestEndRanks(t *testing.T) {
	w := contract.NewWorker(t, nil)
	l := contract.NewLink(t, local.Dialer{Path: w.Socket}, nil)
	linked(t, l)
	rank := func(number, line string) (*link.Session, *said) {
		out := &said{}
		s, err := l.Open(ctxFor(t), "", wire.Spec{Argv: []string{"/bin/bash", "-c", line}, Env: []string{"RANK=" + number}}, link.Streams{Stdout: out})
		require.NoError(t, err)
		require.Eventually(t, func() bool { return out.text() != "" }, 10*time.Second, 10*time.Millisecond)
		return s, out
	}
	saver, words := rank("3", `asked=0; trap 'echo asked; asked=1' TERM; echo up; while [ $asked = 0 ]; do sleep 0.05; done; sleep 1; echo saved`)
	other, _ := rank("4", `echo up; exec sleep 1000`)
	rec := wire.EndRanksRecord{Number: 1, Signal: int(syscall.SIGTERM), GraceMillis: 30_000}
	for range 2 { // after a redial, the launcher asks again
		got, err := l.EndRanks(ctxFor(t), rec)
		require.NoError(t, err)
		require.Equal(t, wire.RanksRecord{Asked: 1, Ranks: []wire.EndingRank{{Rank: "3", Lives: true}}}, got)
	}
	rec.Wait = true
	got, err := l.EndRanks(ctxFor(t), rec)
	require.NoError(t, err)
	require.Equal(t, 1, got.Living, "only rank 4 still runs")
	require.Len(t, got.Ranks, 1)
	require.InDelta(t, 1200, got.Ranks[0].AfterMillis, 900)
	require.False(t, got.Ranks[0].Lives)
	exit, err := saver.Wait(ctxFor(t))
	require.NoError(t, err)
	require.Equal(t, 0, exit.Code)
	require.Equal(t, "up\nasked\nsaved\n", words.text())

	rec.Number = 2
	got, err = l.EndRanks(ctxFor(t), rec)
	require.NoError(t, err)
	require.Equal(t, wire.RanksRecord{Living: 1}, got, "no rank handles the signal")
	other.Stop(0)
	_, err = other.Wait(ctxFor(t))
	require.NoError(t, err)
}

// TestEndRanksStop checks that the exit record of a session reports which ranks a stop has told to
// end, and how these ended.
func TestEndRanksStop(t *testing.T) {
	w := contract.NewWorker(t, nil)
	l := contract.NewLink(t, local.Dialer{Path: w.Socket}, nil)
	linked(t, l)
	in, typed := io.Pipe()
	out := &said{}
	s, err := l.Open(ctxFor(t), "", wire.Spec{Argv: []string{"/bin/bash", "-c", `trap 'exit 0' TERM; echo up; read x`}, Env: []string{"RANK=5"}}, link.Streams{Stdin: in, Stdout: out})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return out.text() != "" }, 10*time.Second, 10*time.Millisecond)
	s.Stop(20 * time.Second)
	exit, err := s.Wait(ctxFor(t))
	require.NoError(t, err)
	require.NoError(t, typed.Close())
	require.Len(t, exit.Asked, 1)
	require.Equal(t, "5", exit.Asked[0].Rank)
	require.False(t, exit.Asked[0].Killed)
}

// TestEndRanksOldWorker checks that a worker without AsksRanks is not asked to end ranks.
func TestEndRanksOldWorker(t *testing.T) {
	l := contract.NewLink(t, newScripted(wire.ProtoMax), quietly)
	linked(t, l)
	_, err := l.EndRanks(ctxFor(t), wire.EndRanksRecord{Number: 1, Signal: 15, GraceMillis: 1000})
	require.ErrorIs(t, err, link.ErrAsksNoRanks)
}
