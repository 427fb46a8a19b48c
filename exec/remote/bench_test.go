package remote

import (
	"context"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/remotecommand"

	"github.com/musterhq/muster/test/fakekube"
)

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

const floodSize = 64 << 20

// flood writes floodSize bytes in pieces of 32 KiB, as an API server does.
func flood(_ context.Context, _, _ string, _ []string, _ io.Reader, out, _ io.Writer) (int, error) {
	piece := make([]byte, 32<<10)
	for sent := 0; sent < floodSize; sent += len(piece) {
		if _, err := out.Write(piece); err != nil {
			return 1, nil
		}
	}
	return 0, nil
}

// BenchmarkStdout transfers 64 MiB of output, read 256 KiB at a time.
func BenchmarkStdout(b *testing.B) {
	for _, protocol := range []string{fakekube.WebSocket, fakekube.SPDY} {
		b.Run(protocol, func(b *testing.B) {
			w := on(b, protocol, flood)
			buf := make([]byte, 256<<10)
			b.SetBytes(floodSize)
			for b.Loop() {
				conn := w.dial(b)
				for got := 0; got < floodSize; {
					n, err := conn.Read(buf)
					require.NoError(b, err)
					got += n
				}
				require.NoError(b, conn.Close())
			}
		})
	}
}

// BenchmarkStdoutClientGo does the same with client-go's executor, as kubectl exec does, for
// comparison.
func BenchmarkStdoutClientGo(b *testing.B) {
	w := on(b, fakekube.WebSocket, flood)
	u, err := target.execURL(w.dialer.cfg)
	require.NoError(b, err)
	b.SetBytes(floodSize)
	for b.Loop() {
		executor, err := remotecommand.NewWebSocketExecutor(w.dialer.cfg, "GET", u.String())
		require.NoError(b, err)
		require.NoError(b, executor.StreamWithContext(b.Context(), remotecommand.StreamOptions{Stdout: io.Discard}))
	}
}
