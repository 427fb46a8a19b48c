//go:build linux

package pid1

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/rundir"
	"github.com/musterhq/muster/exec/wire"
)

// owner and other are user IDs that no machine has.
const owner, other = 64101, 64102

// dial sends HELLO on a socket, like a launcher that was created at second created, and prints the answer.
func dial(path string, created int64) error {
	c, err := net.DialTimeout("unix", path, time.Second)
	if err != nil {
		fmt.Println("not connected:", err)
		os.Exit(0)
	}
	hello, _ := wire.Record(wire.Hello, 0, wire.HelloRecord{ProtoMin: wire.ProtoMin, ProtoMax: wire.ProtoMax,
		LeaseSeconds: 60, Epoch: wire.Epoch{Created: created, UID: "dial"}})
	b, err := wire.Append(nil, hello)
	if err != nil {
		return err
	}
	_, _ = c.Write(b) // the worker may have closed the connection
	switch f, err := wire.NewReader(c).Next(); {
	case err != nil:
		fmt.Println("closed")
	case f.Type == wire.Welcome:
		fmt.Println("welcome")
	case f.Type == wire.Refuse:
		fmt.Println("refused:", string(f.Payload))
	default:
		fmt.Println("frame", f.Type)
	}
	os.Exit(0)
	return nil
}

// dialAs returns the answer that a process of uid gets.
func dialAs(t *testing.T, uid int, path string) string {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", path)
	cmd.Env = []string{roleEnv + "=dial"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return strings.TrimSpace(string(out))
}

// userDir returns a directory of the owner. Other users may search its parent.
func userDir(t *testing.T) string {
	dir := shortDir(t)
	require.NoError(t, os.Chmod(dir, 0o755))
	own := filepath.Join(dir, "own")
	require.NoError(t, os.Mkdir(own, 0o700))
	require.NoError(t, os.Chown(own, owner, owner))
	return own
}

func TestOnlyTheOwnerAndRootAreServed(t *testing.T) {
	t.Parallel()
	dir := userDir(t)
	w := start(t, "init", []string{names.EnvDir + "=" + dir, userEnv + "=" + strconv.Itoa(owner)}).up(t)
	socket := filepath.Join(dir, names.WorkerSocket)
	info, err := os.Lstat(socket)
	require.NoError(t, err)
	require.Equal(t, os.ModeSocket|0o600, info.Mode())
	require.EqualValues(t, owner, info.Sys().(*syscall.Stat_t).Uid)
	info, err = os.Lstat(dir)
	require.NoError(t, err)
	require.Equal(t, os.ModeDir|0o700, info.Mode())

	require.Contains(t, dialAs(t, other, socket), "permission denied", "the directory's mode excludes other users")
	require.Equal(t, "welcome", dialAs(t, owner, socket))
	require.Equal(t, "welcome", dialAs(t, 0, socket))
	// Even if the modes allow everyone, the kernel's credentials of the peer still count.
	require.NoError(t, os.Chmod(dir, 0o777))
	require.NoError(t, os.Chmod(socket, 0o666))
	require.Equal(t, "closed", dialAs(t, other, socket))
	waitFor(t, "the log has the refusal", func() bool { return strings.Contains(w.out.String(), "the caller has uid "+strconv.Itoa(other)) })
	require.Equal(t, "welcome", dialAs(t, owner, socket))
}

// TestHostileDirectories requires exit code 64 and one message, and that no file is changed.
func TestHostileDirectories(t *testing.T) {
	t.Parallel()
	victim := filepath.Join(t.TempDir(), "victim")
	require.NoError(t, os.WriteFile(victim, []byte("precious"), 0o644))
	for name, c := range map[string]struct {
		prepare func(t *testing.T, dir string) string // returns $MUSTER_DIR
		want    string
	}{
		"another user's": {func(t *testing.T, dir string) string {
			require.NoError(t, os.Mkdir(dir+"/x", 0o700))
			require.NoError(t, os.Chown(dir+"/x", other, other))
			return dir + "/x"
		}, "owned by uid 64102, not by uid 0"},
		"wider mode": {func(t *testing.T, dir string) string {
			require.NoError(t, os.Mkdir(dir+"/x", 0o700))
			require.NoError(t, os.Chmod(dir+"/x", 0o750))
			return dir + "/x"
		}, "mode is 0750, want 0700"},
		"a link": {func(t *testing.T, dir string) string {
			require.NoError(t, os.Mkdir(dir+"/real", 0o700))
			require.NoError(t, os.Symlink(dir+"/real", dir+"/x"))
			return dir + "/x"
		}, "not a directory"},
		"a link at the socket's path": {func(t *testing.T, dir string) string {
			require.NoError(t, os.Symlink(victim, dir+"/"+names.WorkerSocket))
			return dir
		}, "the file there is not a socket"},
		"a file at the socket's path": {func(t *testing.T, dir string) string {
			require.NoError(t, os.WriteFile(dir+"/"+names.WorkerSocket, []byte("precious"), 0o600))
			return dir
		}, "the file there is not a socket"},
		"108 bytes": {func(t *testing.T, dir string) string {
			long := filepath.Join(dir, strings.Repeat("d", 108-len(dir)-len("//"+names.WorkerSocket)))
			require.NoError(t, os.Mkdir(long, 0o700))
			return long
		}, "is too long: 108 bytes, at most 107\nhint: set MUSTER_DIR to a directory with a shorter path"},
		"relative": {func(*testing.T, string) string { return "x" }, "not an absolute path"},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, "init", []string{names.EnvDir + "=" + c.prepare(t, shortDir(t))})
			require.Equal(t, names.ExitUsage, w.end(t))
			require.Contains(t, w.out.String(), c.want)
			text, err := os.ReadFile(victim)
			require.NoError(t, err)
			require.Equal(t, "precious", string(text))
			info, err := os.Stat(victim)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o644), info.Mode())
		})
	}
}

func TestLongestSocketPath(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	long := filepath.Join(dir, strings.Repeat("d", 107-len(dir)-len("//"+names.WorkerSocket)))
	w := start(t, "init", []string{names.EnvDir + "=" + long}).up(t)
	w.socket = filepath.Join(long, names.WorkerSocket)
	require.Len(t, w.socket, 107)
	rec, _ := sh(t, w.link(t, nil), "exit 11")
	require.Equal(t, 11, rec.Code)
}

// TestSecondWorker checks that a second worker does not replace the first one. A worker that was killed leaves a
// socket, which the next worker replaces.
func TestSecondWorker(t *testing.T) {
	t.Parallel()
	first := start(t, "init", nil).up(t)
	second := start(t, "init", []string{names.EnvDir + "=" + first.dir})
	require.Equal(t, names.ExitUsage, second.end(t))
	require.Contains(t, second.out.String(), "another process listens on it")
	require.NoError(t, syscall.Kill(first.pid, syscall.SIGKILL))
	first.end(t)
	third := start(t, "init", []string{names.EnvDir + "=" + first.dir}).up(t)
	third.socket = first.socket
	rec, _ := sh(t, third.link(t, nil), "exit 12")
	require.Equal(t, 12, rec.Code)
}

// ready returns the exit code and the output of `agent ready` for w.
func (w *worker) ready(t testing.TB) (int, string) {
	t.Helper()
	cmd := exec.Command(agent, "ready")
	cmd.Env = []string{names.EnvDir + "=" + w.dir}
	out, err := cmd.CombinedOutput()
	if err == nil {
		return 0, string(out)
	}
	var failed *exec.ExitError
	require.ErrorAs(t, err, &failed)
	return failed.ExitCode(), string(out)
}

// files limits the number of descriptors that w may have open.
func (w *worker) files(t testing.TB, most uint64) {
	t.Helper()
	var old unix.Rlimit
	require.NoError(t, unix.Prlimit(w.pid, unix.RLIMIT_NOFILE, nil, &old))
	require.NoError(t, unix.Prlimit(w.pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: most, Max: old.Max}, nil))
}

// TestOutOfDescriptors checks that a worker without free descriptors accepts its launcher again as soon as it has
// one.
func TestOutOfDescriptors(t *testing.T) {
	t.Parallel()
	w := start(t, "init", nil).up(t)
	code, words := w.ready(t)
	require.Equal(t, 0, code, words)

	w.files(t, 3)
	began := time.Now()
	code, words = w.ready(t)
	require.Equal(t, 1, code)
	require.Contains(t, words, "the worker does not answer")
	require.NotContains(t, words, "hint: ", "a worker is running here")
	require.Less(t, time.Since(began), 15*time.Second)
	require.Contains(t, w.out.String(), "cannot accept connections: retrying")
	require.Contains(t, w.out.String(), "ulimit -n")

	w.files(t, 256)
	waitFor(t, "the worker answers", func() bool { code, _ := w.ready(t); return code == 0 })
	rec, _ := sh(t, w.link(t, nil), "exit 21")
	require.Equal(t, 21, rec.Code)
	require.NotContains(t, w.out.String(), "refused a launcher", "a probe is not a launcher")
}

// TestAttachDeliversWhatTheWorkerSaidLast checks that the last frames of the worker, including ENDED, reach the
// launcher, even if the launcher is still writing when the worker closes the connection.
func TestAttachDeliversWhatTheWorkerSaidLast(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	ln, err := rundir.Listen(filepath.Join(dir, names.WorkerSocket))
	require.NoError(t, err)
	defer ln.Close()
	words := bytes.Repeat([]byte("the last words "), 256<<10) // more than the sockets hold
	for range 30 {
		cmd := exec.Command(agent, "attach")
		cmd.Env = []string{names.EnvDir + "=" + dir}
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		written := make(chan struct{})
		go func() {
			defer close(written)
			for _, err := in.Write([]byte("ping")); err == nil; _, err = in.Write([]byte("ping")) {
			}
		}()
		require.NoError(t, ln.SetDeadline(time.Now().Add(patience)))
		c, err := ln.AcceptUnix()
		require.NoError(t, err)
		_, err = io.ReadFull(c, make([]byte, 4))
		require.NoError(t, err)
		require.NoError(t, c.SetWriteBuffer(1<<20))
		go func() {
			_, _ = c.Write(words)
			c.Close()
		}()
		got, err := io.ReadAll(out)
		require.NoError(t, err)
		require.Equal(t, len(words), len(got))
		in.Close()
		<-written
		_ = cmd.Wait() // 255 or 0: either way the stream was cut
	}
}
