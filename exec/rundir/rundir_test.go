package rundir

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/names"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// at makes dir the only candidate.
func at(t *testing.T, dir string) string {
	t.Setenv(names.EnvDir, dir)
	return dir
}

func TestCandidatesInOrder(t *testing.T) {
	t.Setenv(names.EnvDir, "")
	t.Setenv("XDG_RUNTIME_DIR", "/run/user/7")
	t.Setenv("TMPDIR", "/scratch")
	own := "muster-" + strconv.Itoa(os.Getuid())
	require.Equal(t, []string{"/run/muster", "/muster/run", "/run/user/7/muster", "/scratch/" + own, "/dev/shm/" + own}, Candidates())
	t.Setenv("XDG_RUNTIME_DIR", "not/absolute")
	t.Setenv("TMPDIR", "")
	require.Equal(t, []string{"/run/muster", "/muster/run", "/tmp/" + own, "/dev/shm/" + own}, Candidates())
	at(t, "/own")
	require.Equal(t, []string{"/own"}, Candidates())
}

func TestCreate(t *testing.T) {
	for name, c := range map[string]struct {
		make func(t *testing.T, dir string)
		want string // part of the error; "" means success
	}{
		"new":               {func(*testing.T, string) {}, ""},
		"our own, existing": {func(t *testing.T, dir string) { require.NoError(t, os.Mkdir(dir, 0o700)) }, ""},
		"wrong mode":        {func(t *testing.T, dir string) { require.NoError(t, os.Mkdir(dir, 0o755)) }, "mode is 0755, want 0700"},
		"file":              {func(t *testing.T, dir string) { require.NoError(t, os.WriteFile(dir, nil, 0o700)) }, "not a directory"},
		"symlink":           {func(t *testing.T, dir string) { require.NoError(t, os.Symlink(t.TempDir(), dir)) }, "not a directory"},
		"broken symlink":    {func(t *testing.T, dir string) { require.NoError(t, os.Symlink("/no/such", dir)) }, "not a directory"},
		"no parent":         {func(t *testing.T, dir string) { require.NoError(t, os.Remove(filepath.Dir(dir))) }, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := at(t, filepath.Join(t.TempDir(), "parent", "run"))
			require.NoError(t, os.Mkdir(filepath.Dir(dir), 0o755))
			c.make(t, dir)
			got, err := Create()
			if c.want != "" {
				require.ErrorContains(t, err, c.want)
				require.ErrorContains(t, err, dir)
				return
			}
			require.NoError(t, err)
			require.Equal(t, dir, got)
			info, err := os.Lstat(dir)
			require.NoError(t, err)
			require.Equal(t, os.ModeDir|0o700, info.Mode())
		})
	}
}

func TestCreateRefusesDirectoryOfAnotherUser(t *testing.T) {
	dir := "/proc/1" // belongs to root, unless the test runs as root
	if os.Getuid() == 0 {
		dir = filepath.Join(t.TempDir(), "run")
		require.NoError(t, os.Mkdir(dir, 0o700))
		require.NoError(t, os.Chown(dir, 65534, 65534))
	}
	at(t, dir)
	_, err := Create()
	require.ErrorContains(t, err, "owned by uid")
}

func TestCreateRefusesARelativeDirectory(t *testing.T) {
	at(t, "run")
	_, err := Create()
	require.ErrorContains(t, err, "not an absolute path")
}

func TestSpillFilesAreNotInSharedMemory(t *testing.T) {
	shared, err := os.MkdirTemp(sharedMemory, "rundir-test-")
	require.NoError(t, err)
	defer os.RemoveAll(shared)
	disk := t.TempDir()
	link := filepath.Join(disk, "link")
	require.NoError(t, os.Symlink(shared, link))
	for _, c := range []struct {
		dir, temporary string
		want           []string
	}{
		{disk, "/tmp", []string{disk, "/tmp"}},
		{shared, disk, []string{disk}},
		{disk, sharedMemory, []string{disk}},
		{link, filepath.Join(disk, "none"), nil},
	} {
		t.Setenv("TMPDIR", c.temporary)
		require.Equal(t, c.want, SpillDirs(c.dir))
	}
}

func TestListenAndFind(t *testing.T) {
	dir := at(t, filepath.Join(t.TempDir(), "run"))
	_, err := Create()
	require.NoError(t, err)
	path := filepath.Join(dir, names.BrokerSocket)

	_, err = Find(names.BrokerSocket)
	var missing *NotFoundError
	require.ErrorAs(t, err, &missing)
	require.Equal(t, []string{path}, missing.Looked)

	l, err := Listen(path)
	require.NoError(t, err)
	info, err := os.Lstat(path)
	require.NoError(t, err)
	require.Equal(t, os.ModeSocket|0o600, info.Mode())
	found, err := Broker()
	require.NoError(t, err)
	require.Equal(t, path, found)

	_, err = Listen(path)
	require.ErrorContains(t, err, "another process listens on it")

	// A killed process leaves its socket behind.
	l.SetUnlinkOnClose(false)
	require.NoError(t, l.Close())
	require.FileExists(t, path)
	l, err = Listen(path)
	require.NoError(t, err)
	require.NoError(t, l.Close())

	require.NoError(t, os.WriteFile(path, []byte("precious"), 0o600))
	_, err = Listen(path)
	require.ErrorContains(t, err, "not a socket")
	_, err = Find(names.BrokerSocket)
	require.ErrorAs(t, err, &missing)
	require.FileExists(t, path)

	t.Setenv(names.EnvBroker, "/elsewhere")
	found, err = Broker()
	require.NoError(t, err)
	require.Equal(t, "/elsewhere", found)
}

// TestOnlyOneOfManyListens checks that only one of many concurrent listeners succeeds. A socket
// that is bound and does not listen yet looks like a stale socket.
func TestOnlyOneOfManyListens(t *testing.T) {
	dir := at(t, filepath.Join(t.TempDir(), "run"))
	_, err := Create()
	require.NoError(t, err)
	path := filepath.Join(dir, "s")
	for range 200 {
		var all sync.WaitGroup
		won := make(chan *net.UnixListener, 8)
		for range cap(won) {
			all.Go(func() {
				l, err := Listen(path)
				if err == nil {
					won <- l
					return
				}
				assert.ErrorContains(t, err, "another process listens on it")
			})
		}
		all.Wait()
		close(won)
		require.Len(t, won, 1)
		l := <-won
		l.SetUnlinkOnClose(false) // the next round finds a stale socket
		require.NoError(t, l.Close())
	}
}

func TestListenRequiresPrivateDirectory(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o755))
	_, err := Listen(filepath.Join(dir, "s"))
	require.ErrorContains(t, err, "want 0700")
}

func TestLongPathIsNamed(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	fits := filepath.Join(dir, strings.Repeat("s", MaxSocketPath-len(dir)-1))
	require.Len(t, fits, MaxSocketPath)
	l, err := Listen(fits)
	require.NoError(t, err)
	require.NoError(t, l.Close())
	_, err = Listen(fits + "s")
	var long *PathTooLongError
	require.ErrorAs(t, err, &long)
	require.ErrorContains(t, err, fits+"s is too long: 108 bytes")
}

func TestPeerCred(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	l, err := Listen(filepath.Join(dir, "s"))
	require.NoError(t, err)
	defer l.Close()
	client, err := net.Dial("unix", l.Addr().String())
	require.NoError(t, err)
	defer client.Close()
	server, err := l.AcceptUnix()
	require.NoError(t, err)
	defer server.Close()
	uid, pid, err := PeerCred(server)
	require.NoError(t, err)
	require.Equal(t, os.Getuid(), uid)
	require.Equal(t, os.Getpid(), pid)
}

// TestListenKeepsBusySocket checks that the socket of a listener whose queue is full is kept. The
// listener is alive.
func TestListenKeepsBusySocket(t *testing.T) {
	dir := at(t, filepath.Join(t.TempDir(), "run"))
	_, err := Create()
	require.NoError(t, err)
	path := filepath.Join(dir, "s")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(fd)
	require.NoError(t, unix.Bind(fd, &unix.SockaddrUnix{Name: path}))
	require.NoError(t, unix.Listen(fd, 0))
	queued, err := net.Dial("unix", path)
	require.NoError(t, err)
	defer queued.Close()

	_, err = Listen(path)
	require.ErrorIs(t, err, unix.EAGAIN)
	require.FileExists(t, path)
}

func TestAddress(t *testing.T) {
	dir := t.TempDir()
	_, err := Address(dir)
	require.ErrorIs(t, err, fs.ErrNotExist)
	for _, want := range []string{"198.18.0.7:9378", "[::1]:1"} {
		require.NoError(t, SetAddress(dir, want))
		got, err := Address(dir)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1, "no other file is left")
}
