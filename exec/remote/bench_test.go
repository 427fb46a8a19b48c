package remote

import (
	"context"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/fakekube"
)

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// BenchmarkStdout carries 64 MiB of output in the pieces that an API server
// sends (32 KiB), read 256 KiB at a time.
func BenchmarkStdout(b *testing.B) {
	const size = 64 << 20
	flood := func(_ context.Context, _, _ string, _ []string, in io.Reader, out, _ io.Writer) (int, error) {
		piece := make([]byte, 32<<10)
		for sent := 0; sent < size; sent += len(piece) {
			if _, err := out.Write(piece); err != nil {
				return 1, nil
			}
		}
		return 0, nil
	}
	for _, protocol := range []string{fakekube.WebSocket, fakekube.SPDY} {
		b.Run(protocol, func(b *testing.B) {
			w := on(b, protocol, flood)
			buf := make([]byte, 256<<10)
			b.SetBytes(size)
			for b.Loop() {
				conn := w.dial(b)
				for got := 0; got < size; {
					n, err := conn.Read(buf)
					require.NoError(b, err)
					got += n
				}
				require.NoError(b, conn.Close())
			}
		})
	}
}
