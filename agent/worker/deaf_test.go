//go:build linux

package worker

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/local"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/rundir"
	"github.com/musterhq/muster/exec/wire"
)

// TestDeafWorkerEnds checks that a worker whose socket fails permanently stops its sessions,
// delivers their ends and exits with 70.
func TestDeafWorkerEnds(t *testing.T) {
	dir, err := os.MkdirTemp("", "muster")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	ln, err := rundir.Listen(filepath.Join(dir, names.WorkerSocket))
	require.NoError(t, err)
	r, err := newRole(Config{Grace: 5 * time.Second, Log: slog.New(slog.DiscardHandler)}, dir, "")
	require.NoError(t, err)
	type end struct {
		code  int
		words string
		err   error
	}
	ended := make(chan end, 1)
	go func() {
		code, words, err := r.run(context.Background(), ln, Signals{})
		ended <- end{code, words, err}
	}()

	l := link.New(link.Config{Worker: "w-0", Dialer: local.Dialer{Path: filepath.Join(dir, names.WorkerSocket)},
		Hello: wire.HelloRecord{Epoch: wire.Epoch{Created: 1, UID: "a"}}})
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	linked := make(chan struct{})
	go func() { _ = l.Run(ctx); close(linked) }()
	session, err := l.Open(ctx, "", wire.Spec{Line: "exec sleep 1000"}, link.Streams{Stdout: os.Stdout, Stderr: os.Stderr})
	require.NoError(t, err)

	require.Eventually(t, func() bool { return r.server.Sessions() == 1 }, 20*time.Second, 5*time.Millisecond)
	require.NoError(t, ln.Close())
	rec, err := session.Wait(ctx)
	require.NoError(t, err, "the end of the session is delivered")
	require.Equal(t, wire.ReasonFailed, rec.Reason)
	select {
	case e := <-ended:
		require.Equal(t, names.ExitBug, e.code)
		require.Equal(t, "launchers could no longer connect", e.words)
		require.ErrorContains(t, e.err, "accept connections")
	case <-ctx.Done():
		require.FailNow(t, "the worker did not exit")
	}
	cancel()
	<-linked
}
