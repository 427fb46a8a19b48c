//go:build linux

package session

import (
	"bytes"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/reap"
)

// TestSoonestLook checks that the first look is early while a line that may start daemons is
// running.
func TestSoonestLook(t *testing.T) {
	s, _ := linked(t, 2)
	require.Equal(t, lastLook, s.observer.soonestLook())
	for _, x := range s.sessions {
		x.line = true
	}
	require.Equal(t, firstLook, s.observer.soonestLook())
	for _, x := range s.sessions {
		x.enter(ended)
	}
	require.Equal(t, lastLook, s.observer.soonestLook())
}

// TestLongestLook checks that looks become rare only where no daemon can be expected.
func TestLongestLook(t *testing.T) {
	s, _ := linked(t, 1)
	o := s.observer
	require.Equal(t, idleLook, o.longestLook())
	for _, x := range s.sessions {
		w := &watched{session: x, kind: ofDaemon, seen: time.Now().Add(-time.Hour)}
		o.watched[being{1 << 30, 1}] = w
		require.Equal(t, lastLook, o.longestLook(), "a program of the user's has started a daemon")
		w.kind = ofRank
		require.Equal(t, idleLook, o.longestLook())
		delete(o.watched, being{1 << 30, 1})

		x.line = true
	}
	require.Equal(t, lastLook, o.longestLook())
	o.wants.frozenAfter = 12 * time.Second
	require.Equal(t, 3*time.Second, o.longestLook())
}

// TestRankThatEndedStaysEnded checks that a look with an old scan does not watch a rank again whose
// end was reported. Its end would be unknown then, and it would count as an unseen rank.
func TestRankThatEndedStaysEnded(t *testing.T) {
	s, _ := linked(t, 1)
	o := s.observer
	for _, x := range s.sessions {
		rank := exec.Command("/bin/cat")
		rank.Env = []string{"PMI_RANK=0"}
		_, err := rank.StdinPipe() // Wait closes it
		require.NoError(t, err)
		require.NoError(t, rank.Start())
		scanned, err := reap.Stat(rank.Process.Pid, &bytes.Buffer{})
		require.NoError(t, err)
		require.NotNil(t, o.see(x, scanned, ofRank))

		require.NoError(t, rank.Process.Kill())
		require.Error(t, rank.Wait())
		o.mu.Lock()
		o.endLocked(being{scanned.PID, scanned.Start}, reap.Status{Code: 137, Signal: syscall.SIGKILL})
		o.mu.Unlock()

		require.Nil(t, o.see(x, scanned, ofRank))
		o.miss(x, nil)
		require.Zero(t, o.unseen(x))
	}
}
