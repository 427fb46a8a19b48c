//go:build linux

package broker

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAnotherUserIsNotServed checks that the launcher serves only its own user and root, and that a
// stub trusts only a broker in a private directory. In this test, the directory and the socket are
// open to all users.
func TestAnotherUserIsNotServed(t *testing.T) {
	require.Zero(t, os.Getuid(), "this test changes its user: run it as root")
	backend := newLocal()
	socket, _ := serve(t, &Server{Hosts: func() []string { return []string{"w-0"} }}, backend)
	echo := []string{"198.18.0.2", "echo", "opened"}
	as := func(uid uint32, words ...string) (int, string) {
		cmd := call(socket, words...)
		cmd.Path = "/proc/self/exe" // only our user may enter the directory of the binary
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		return codeOf(t, cmd), out.String()
	}
	code, said := as(64102, echo...)
	require.Equal(t, 255, code)
	require.Contains(t, said, "permission denied")
	require.NoError(t, os.Chmod(filepath.Dir(socket), 0o777))
	require.NoError(t, os.Chmod(socket, 0o666))
	code, said = as(64102, echo...)
	require.Equal(t, 255, code)
	require.NotContains(t, said, "opened")
	require.Contains(t, said, "owned by uid 0, not by uid 64102")
	code, said = as(0, echo...)
	require.Equal(t, 255, code)
	require.Contains(t, said, "mode is 0777, want 0700")

	// A peer without any checks gets no answer from the broker.
	_, said = as(64102, peerWord)
	require.Equal(t, "0 bytes\n", said)
	require.Empty(t, backend.sessions, "no session was started")
	_, said = as(0, peerWord)
	require.NotEqual(t, "0 bytes\n", said, "a peer of an allowed user gets an answer")
	require.NoError(t, os.Chmod(filepath.Dir(socket), 0o700))
	code, said = as(0, echo...)
	require.Zero(t, code)
	require.Equal(t, "opened\n", said)
}

// peerWord turns a stub into a peer that connects without any checks.
const peerWord = "peer"

// peer connects, sends nothing, and prints the length of the broker's answer.
func peer(socket string) int {
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer c.Close()
	_ = c.CloseWrite()
	answer, _ := io.ReadAll(c)
	fmt.Println(len(answer), "bytes")
	return 0
}
