//go:build linux

package pid1

import (
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/wire"
)

// guest runs a line in the worker's namespaces as `kubectl exec` does: with a
// parent outside, not below PID 1.
func guest(t *testing.T, w *worker, line string) (ended chan struct{}) {
	cmd := exec.Command("nsenter", "-t", strconv.Itoa(w.pid), "-p", "-m", "sh", "-c", line)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	ended = make(chan struct{})
	b := make([]byte, 6)
	_, err = out.Read(b)
	require.NoError(t, err)
	require.Equal(t, "ready\n", string(b))
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		in.Close() // it reads
		<-ended
	})
	return ended
}

// People's own shells in the container live through the end of a job; they get
// no signal that PID 1 forwards, and their orphans are collected.
func TestGuestsAreSpared(t *testing.T) {
	t.Parallel()
	w := start(t, "init", nil).up(t)
	l := w.link(t, nil)
	s := open(t, l, wire.Spec{Line: "echo ready; exec sleep 1010"})
	s.says(t, "ready\n")
	ended := guest(t, w, `(: &); echo ready; read x; exit 0`)
	rec, _ := sh(t, l, "trap '' USR1; kill -USR1 1; exit 0")
	require.Zero(t, rec.Code)
	require.Equal(t, 128+10, s.record(t).Code, "the session got it")
	open(t, l, wire.Spec{Line: "echo ready; exec sleep 1010"}).says(t, "ready\n")
	require.NoError(t, l.End(bounded(t), true, time.Second))
	waitFor(t, "nobody is left", func() bool { return len(below(t, w.pid)) == 0 })
	select {
	case <-ended:
		require.Fail(t, "the guest was stopped")
	default:
	}
}
