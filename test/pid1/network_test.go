//go:build linux

package pid1

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/network"
	"github.com/musterhq/muster/exec/rundir"
	"github.com/musterhq/muster/exec/secure"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/test/contract"
)

// byNetwork starts a worker with a key as an ordinary user. It returns a link by network and the launcher's key.
func byNetwork(t *testing.T) (*worker, *link.Link, secure.LauncherKey) {
	t.Helper()
	keys := shortDir(t)
	paths, err := secure.WritePair(keys)
	require.NoError(t, err)
	require.NoError(t, os.Chmod(keys, 0o755))
	for _, path := range paths { // as in a mounted Secret
		require.NoError(t, os.Chmod(path, 0o644))
	}
	home := shortDir(t)
	require.NoError(t, os.Chown(home, owner, owner))
	// The last variable of a name counts.
	w := start(t, "init", []string{names.EnvDir + "=" + home, names.EnvPodName + "=w-0", names.EnvKeyFile + "=" + paths[1], names.EnvListen + "=127.0.0.1:0",
		userEnv + "=" + strconv.Itoa(owner)})
	w.dir, w.socket = home, filepath.Join(home, names.WorkerSocket)
	w.up(t)
	key, err := secure.ReadLauncherKey(paths[0])
	require.NoError(t, err)
	return w, contract.NewLink(t, w.dialer(t, key), nil), key
}

// dialer dials the worker by network with a launcher's key.
func (w *worker) dialer(t *testing.T, key secure.LauncherKey) *network.Dialer {
	t.Helper()
	launcher, err := secure.NewLauncher(key, "", wire.Epoch{Created: 1, UID: "launcher-a"})
	require.NoError(t, err)
	return &network.Dialer{Launcher: launcher, Worker: "w-0", Address: func() (string, error) { return rundir.Address(w.dir) }}
}

// TestRanksDoNotReadPID1 checks that a rank, which has the user ID of PID 1, learns none of its keys.
func TestRanksDoNotReadPID1(t *testing.T) {
	t.Parallel()
	w, l, key := byNetwork(t)
	rec, said := sh(t, l, `id -u
for f in environ maps auxv; do cat /proc/1/$f >/dev/null 2>&1 && echo "read $f"; done
head -c 1 /proc/1/mem >/dev/null 2>&1 && echo read mem
ls /proc/1/fd/ 2>/dev/null | grep -q . && echo read fd
cat /proc/self/environ /proc/self/maps >/dev/null && echo read own
cat $MUSTER_KEY_FILE; exit 3`)
	require.Equal(t, 3, rec.Code)
	require.Equal(t, strconv.Itoa(owner)+"\nread own\n"+key.Worker().Text(), said, "a rank can read the worker's key only")

	// The worker does all of its work nevertheless: over its socket, with orphans, and to the end.
	socket := w.link(t, func(c *link.Config) { c.Hello.Epoch.Created = 2 })
	rec, said = sh(t, socket, `(sleep 1000 &); cat /proc/self/oom_score_adj; echo at the socket`)
	require.Equal(t, 0, rec.Code)
	require.True(t, strings.HasSuffix(said, "at the socket\n"), said)
	require.NoError(t, socket.End(t.Context(), false, 0))
	<-w.ended
	require.Equal(t, 0, w.state.ExitCode())
}

// TestARankDoesNotTakeThePort checks that a rank can listen neither at the worker's port nor at a closer address.
func TestARankDoesNotTakeThePort(t *testing.T) {
	t.Parallel()
	w, l, _ := byNetwork(t)
	address, err := rundir.Address(w.dir)
	require.NoError(t, err)
	_, port, ok := strings.Cut(address, ":")
	require.True(t, ok)
	rec, said := sh(t, l, `python3 -c '
import socket
for host in "127.0.0.1", "0.0.0.0":
    for option in socket.SO_REUSEADDR, socket.SO_REUSEPORT:
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, option, 1)
        try:
            s.bind((host, `+port+`))
            s.listen()
            print("took", host, option)
        except OSError as e:
            print(e.strerror)
'`)
	require.Equal(t, 0, rec.Code, said)
	require.Equal(t, strings.Repeat("Address already in use\n", 4), said)
}
