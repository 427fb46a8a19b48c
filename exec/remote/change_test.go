package remote

import (
	"context"
	"crypto/sha256"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/test/contract"
	"github.com/musterhq/muster/test/fakekube"
)

// TestMuchFlowsBySPDY: a link through which much flows is dialled again by SPDY in the
// middle of it; no byte is lost, and it counts as no loss of the connection.
func TestMuchFlowsBySPDY(t *testing.T) {
	const size = 160 << 20
	worker := contract.NewWorker(t, nil)
	w := on(t, fakekube.WebSocket, bridge(worker.Socket))
	l := contract.NewLink(t, w.dialer, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	got, want := sha256.New(), sha256.New()
	_, err := io.CopyN(want, zeros{}, size)
	require.NoError(t, err)
	s, err := l.Open(ctx, "", wire.Spec{Argv: []string{"head", "-c", "167772160", "/dev/zero"}}, link.Streams{Stdout: got})
	require.NoError(t, err)
	exit, err := s.Wait(ctx)
	require.NoError(t, err)
	require.Zero(t, exit.Code)
	require.EqualValues(t, size, exit.Stdout)
	require.Equal(t, want.Sum(nil), got.Sum(nil))
	require.Equal(t, map[string]int{fakekube.WebSocket: 1, fakekube.SPDY: 1}, w.exec.Dials())
	state := l.State()
	require.Zero(t, state.Redials)
	require.Zero(t, state.LongestGap)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestChangeFallsBack: what a server has against SPDY, a right that is missing too, is no
// reason to be without a stream.
func TestChangeFallsBack(t *testing.T) {
	for _, code := range []int{400, 403, 404, 500} {
		w := on(t, fakekube.WebSocket, echo)
		w.exec.Refuse(fakekube.SPDY, code, "no")
		require.True(t, w.dialer.Change())
		require.False(t, w.dialer.Change(), "once")
		for range 2 {
			conn := w.dial(t)
			_, err := conn.Write([]byte("x"))
			require.NoError(t, err)
			_, err = io.ReadFull(conn, make([]byte, 1))
			require.NoError(t, err)
			require.NoError(t, conn.Close())
		}
		require.Equal(t, map[string]int{fakekube.WebSocket: 2, fakekube.SPDY: 1}, w.exec.Dials(), "it is asked for once")
		other := New(w.dialer.cfg, nil, target, w.dialer.proto)
		require.False(t, other.Change(), "for another worker neither")
	}
}

// TestChangeOnce: a stream that came by SPDY and was lost is not dialled by SPDY again.
func TestChangeOnce(t *testing.T) {
	w := on(t, fakekube.WebSocket, echo)
	require.True(t, w.dialer.Change())
	for range 2 {
		require.NoError(t, w.dial(t).Close())
	}
	require.Equal(t, map[string]int{fakekube.WebSocket: 1, fakekube.SPDY: 1}, w.exec.Dials())
}

func TestNoChangeFromSPDY(t *testing.T) {
	require.False(t, on(t, fakekube.SPDY, echo).dialer.Change())
}
