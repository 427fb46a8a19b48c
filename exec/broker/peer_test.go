//go:build linux

package broker

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whoever can reach the socket, only the launcher's own user and root are
// served: here somebody has opened directory and socket to all.
func TestAnotherUserIsNotServed(t *testing.T) {
	require.Zero(t, os.Getuid(), "this test becomes another user: run it as root")
	backend := newLocal()
	socket, _ := serve(t, &Server{Env: func() []string { return []string{"A=b"} }}, backend)
	as := func(uid uint32) (int, string) {
		cmd := call(socket, "198.18.0.2", "echo", "opened")
		cmd.Path = "/proc/self/exe" // its directory is ours alone
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		return codeOf(t, cmd), out.String()
	}
	code, said := as(64102)
	require.Equal(t, 255, code)
	require.Contains(t, said, "permission denied")
	require.NoError(t, os.Chmod(filepath.Dir(socket), 0o777))
	require.NoError(t, os.Chmod(socket, 0o666))
	code, said = as(64102)
	require.Equal(t, 255, code)
	require.NotContains(t, said, "opened")
	require.NotContains(t, said, "permission denied", "the socket itself was open")
	require.Empty(t, backend.sessions, "nothing was started")
	code, said = as(0)
	require.Zero(t, code)
	require.Equal(t, "opened\n", said)
}
