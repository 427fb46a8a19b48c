//go:build linux

package pid1

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/wire"
)

// gate is a writer that waits to be opened.
type gate struct {
	opened chan struct{}
	n      int
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.opened
	g.n += len(p)
	return len(p), nil
}

// A limit on file sizes makes the kernel send SIGXFSZ to a worker that spills:
// it lives, and no byte is lost.
func TestFileSizeLimit(t *testing.T) {
	t.Parallel()
	w := start(t, "init", nil).up(t)
	l := w.link(t, nil)
	require.NoError(t, unix.Prlimit(w.pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 4096, Max: unix.RLIM_INFINITY}, nil))
	g := &gate{opened: make(chan struct{})}
	const size = 8 << 20
	s, err := l.Open(t.Context(), "", wire.Spec{Argv: []string{"head", "-c", "8388608", "/dev/zero"}}, link.Streams{Stdout: g, Stderr: io.Discard})
	require.NoError(t, err)
	waitFor(t, "the worker says that it cannot spill", func() bool { return strings.Contains(w.out.String(), "file too large") })
	rec, _ := sh(t, l, "exit 31")
	require.Equal(t, 31, rec.Code, "others go on")
	close(g.opened)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	rec, err = s.Wait(ctx)
	require.NoError(t, err)
	require.Zero(t, rec.Code)
	require.EqualValues(t, size, rec.Stdout)
	require.Equal(t, size, g.n)
}
