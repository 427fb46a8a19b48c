//go:build linux

package broker

import (
	"bytes"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/rsh"
)

// TestSilentConnectionsDelayNothing checks that connections without a complete request delay
// neither a stub nor the end of the server.
func TestSilentConnectionsDelayNothing(t *testing.T) {
	whole := rsh.AppendRequest(nil, rsh.KindRun, rsh.Request{Host: "w-0", Command: strings.Repeat("x", 1<<20)})
	for name, said := range map[string][]byte{
		"nothing":                    nil,
		"half a length":              whole[:3],
		"part of a request":          whole[:100],
		"part of a large request":    whole[:1<<19],
		"a length that is too large": {0, 0x7f, 0xff, 0xff},
	} {
		t.Run(name, func(t *testing.T) {
			socket, end := serve(t, &Server{}, newLocal())
			began := time.Now()
			for range 2*largeAtOnce + 1 {
				conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
				require.NoError(t, err)
				defer conn.Close()
				require.NoError(t, conn.SetWriteDeadline(time.Now().Add(50*time.Millisecond)))
				_, _, err = conn.WriteMsgUnix(said, syscall.UnixRights(0, 1, 2), nil)
				if len(said) > 0 && len(said) < 1<<16 {
					require.NoError(t, err)
				}
			}
			cmd := call(socket, "w-0", "echo served")
			var stdout bytes.Buffer
			cmd.Stdout = &stdout
			require.Zero(t, codeOf(t, cmd))
			require.Equal(t, "served\n", stdout.String())
			end()
			require.Less(t, time.Since(began), requestTime*9/10)
		})
	}
}
