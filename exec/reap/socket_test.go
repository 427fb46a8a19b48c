//go:build linux

package reap

import (
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPeerIn(t *testing.T) {
	const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	row := func(local, remote, state, inode string) string {
		return "   0: " + local + " " + remote + " " + state + " 00000000:00000000 00:00000000 00000000     0        0 " + inode + " 1 0 20 4\n"
	}
	const near, far = "0100007F:A000", "0100007F:7530" // 127.0.0.1, port 30000
	for name, c := range map[string]struct {
		text string
		want Peer
	}{
		"connected":    {row(near, far, "01", "7"), Peer{Address: "127.0.0.1:30000"}},
		"closed":       {row(near, far, "08", "7"), Peer{Address: "127.0.0.1:30000", Closed: true}},
		"no listener":  {row(near, far, "02", "7"), Peer{Address: "127.0.0.1:30000", Unheard: true}},
		"full backlog": {row(near, far, "02", "7") + row("00000000:7530", "00000000:0000", "0A", "8"), Peer{Address: "127.0.0.1:30000"}},
		"another host": {row(near, "0200000A:7530", "02", "7"), Peer{Address: "10.0.0.2:30000"}},
		"IPv6": {row("00000000000000000000000001000000:A000", "00000000000000000000000001000000:7530", "01", "7"),
			Peer{Address: "[::1]:30000"}},
		"listens":         {row(far, "00000000:0000", "0A", "7"), Peer{}},
		"another's":       {row(near, far, "01", "8"), Peer{}},
		"malformed lines": {"x\n: : :\n" + row("zz:1", far, "01", "7"), Peer{}},
	} {
		require.Equal(t, c.want, peerIn(parseTCP([]byte(head+c.text)), "7"), name)
	}
}

// TestLookNamesThePeer checks a child that reads from a socket whose other end is in this process.
func TestLookNamesThePeer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	near, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	far, err := l.Accept()
	require.NoError(t, err)
	file, err := near.(*net.TCPConn).File()
	require.NoError(t, err)
	require.NoError(t, near.Close())
	cat := exec.Command("cat")
	cat.Stdin = file
	cat.Stdout = os.Stderr
	require.NoError(t, cat.Start())
	require.NoError(t, file.Close())
	want := Peer{Address: l.Addr().String()}
	require.Eventually(t, func() bool { return Look(cat.Process.Pid).Peer == want }, 5*time.Second, 10*time.Millisecond)
	require.NoError(t, far.Close())
	require.NoError(t, cat.Wait())
}
