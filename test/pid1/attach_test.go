//go:build linux

package pid1

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/names"
	"github.com/musterhq/muster/exec/rundir"
)

// The worker's last words, ENDED among them, reach the launcher although that
// one is still writing when the worker closes.
func TestAttachDeliversWhatTheWorkerSaidLast(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "pid1-")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	ln, err := rundir.Listen(filepath.Join(dir, names.WorkerSocket))
	require.NoError(t, err)
	defer ln.Close()
	words := bytes.Repeat([]byte("the last words "), 256<<10) // more than the sockets hold
	for range 30 {
		cmd := exec.Command(agent, "attach")
		cmd.Env = []string{names.EnvDir + "=" + dir}
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		written := make(chan struct{})
		go func() {
			defer close(written)
			for _, err := in.Write([]byte("ping")); err == nil; _, err = in.Write([]byte("ping")) {
			}
		}()
		require.NoError(t, ln.SetDeadline(time.Now().Add(patience)))
		c, err := ln.AcceptUnix()
		require.NoError(t, err)
		_, err = io.ReadFull(c, make([]byte, 4))
		require.NoError(t, err)
		require.NoError(t, c.SetWriteBuffer(1<<20))
		go func() {
			_, _ = c.Write(words)
			c.Close()
		}()
		got, err := io.ReadAll(out)
		require.NoError(t, err)
		require.Equal(t, len(words), len(got))
		in.Close()
		<-written
		_ = cmd.Wait() // 255 or 0: its stream was cut either way
	}
}
