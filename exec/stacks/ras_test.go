//go:build linux

package stacks_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/stacks"
)

// service simulates a rank with NCCL: it maps a library with the name of NCCL's, and answers on
// NCCL_RAS_ADDR as NCCL's rasClientRun does.
const service = `
import mmap, os, socket, time
with open(os.environ["LIBRARY"], "w+b") as f:
    f.write(b"x"); f.flush()
    library = mmap.mmap(f.fileno(), 1)
host, port = os.environ["NCCL_RAS_ADDR"].rsplit(":", 1)
s = socket.create_server((host, int(port)))
print("on", flush=True)
while True:
    c, _ = s.accept()
    lines = c.makefile("rw")
    said = []
    for answer in ("SERVER PROTOCOL 2\n", "OK\n", os.environ["STATUS"]):
        said.append(lines.readline())
        if os.environ.get("SAY"): answer = os.environ["SAY"]
        try:
            lines.write(answer); lines.flush()
        except OSError: break
    print(said, flush=True)
    if os.environ.get("STAYS"): time.sleep(1000)
    lines.close(); c.close()
`

// rasRank starts a rank with the service on a free port.
func rasRank(t *testing.T, library string, env ...string) reap.Proc {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	at := l.Addr().String()
	require.NoError(t, l.Close())
	dir := t.TempDir()
	return rankOf(t, dir, service, append(env, "NCCL_RAS_ADDR="+at, "LIBRARY="+filepath.Join(dir, library))...)
}

func TestRAS(t *testing.T) {
	const status = "NCCL version 2.27.3 compiled with CUDA 12.9\n\nJob summary\n===========\n"
	for name, c := range map[string]struct {
		library string
		env     []string
		want    string
	}{
		"answers":            {"libnccl.so.2", []string{"STATUS=" + status}, status},
		"not NCCL's library": {"libmine.so.2", []string{"STATUS=" + status}, ""},
		"another protocol":   {"libnccl.so.2", []string{"STATUS=x", "SAY=HTTP/1.0 400 Bad Request\n"}, ""},
		"stays connected":    {"libnccl.so.2", []string{"STATUS=" + status, "STAYS=1"}, status},
		"endless answer":     {"libnccl.so.2", []string{"STATUS=" + fmt.Sprintf("%090000d", 0)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := rasRank(t, c.library, c.env...)
			began := time.Now()
			got := stacks.RAS(context.Background(), []reap.Proc{native(t), p})
			require.Less(t, time.Since(began), 5*time.Second)
			if name == "endless answer" {
				require.Greater(t, len(got), 15<<10)
				require.LessOrEqual(t, len(got), 16<<10)
				return
			}
			require.Equal(t, c.want, string(got))
		})
	}
}

// TestRASOfAnotherProcess checks that the port of another process on the machine is not used.
func TestRASOfAnotherProcess(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	p := rankOf(t, t.TempDir(), `
import mmap, time
with open("libnccl.so.2", "w+b") as f:
    f.write(b"x"); f.flush()
    library = mmap.mmap(f.fileno(), 1)
print("on", flush=True)
time.sleep(1000)`, "NCCL_RAS_ADDR=localhost:"+strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
	require.Empty(t, stacks.RAS(context.Background(), []reap.Proc{p}))
	require.NoError(t, l.(*net.TCPListener).SetDeadline(time.Now().Add(50*time.Millisecond)))
	_, err = l.Accept()
	require.ErrorIs(t, err, os.ErrDeadlineExceeded, "the port was used")
}
