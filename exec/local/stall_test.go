//go:build linux

package local_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/session"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/test/contract"
)

// stopped is a reader that blocks until it is freed.
type stopped struct {
	hash.Hash
	gone chan struct{}
	goOn func()
}

// newStopped returns a stopped reader, which is freed at the end of the test at the latest.
func newStopped(t *testing.T) stopped {
	s := stopped{Hash: sha256.New(), gone: make(chan struct{})}
	s.goOn = sync.OnceFunc(func() { close(s.gone) })
	t.Cleanup(s.goOn)
	return s
}

func (s stopped) Write(p []byte) (int, error) {
	<-s.gone
	return s.Hash.Write(p)
}

// stall is one test case: a process writes stallSize bytes to a reader that has stopped.
type stall struct {
	dirs  []string
	spool int64  // limit of the spill files in bytes; 0 means the default
	waits bool   // the process waits until the reader continues
	files int64  // bytes in files before the reader continues
	says  string // what the worker logs once; "" means nothing
}

const (
	stallSize = 8 << 20
	// inMemory is the number of bytes that may be in transit without files: in the spool's memory, in
	// the pipe, and in the buffer of the goroutine that copies them.
	inMemory = 1<<20 + 1<<20 + wire.MaxData
)

func (c stall) run(t *testing.T) {
	log := &contract.Text{}
	var dir string
	w := contract.NewWorker(t, func(cfg *session.Config) {
		dir = cfg.Dir
		cfg.SpoolDirs, cfg.SpoolSize = c.dirs, c.spool
		cfg.Log = slog.New(slog.NewTextHandler(log, nil))
	})
	l := contract.NewLink(t, newWay(t).Dialer(t, w), nil)
	data := make([]byte, stallSize)
	_, _ = rand.NewChaCha8([32]byte{3}).Read(data) // Read never fails
	require.NoError(t, os.WriteFile(filepath.Join(dir, "data"), data, 0o600))
	reader := newStopped(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	s, err := l.Open(ctx, "", wire.Spec{Line: "cat data & echo $! >pid.new; mv pid.new pid; wait $! && touch written; exit 7"}, link.Streams{Stdout: reader})
	require.NoError(t, err)

	if c.waits {
		n := settled(t, filepath.Join(dir, "pid"))
		require.Less(t, n, int64(stallSize))
		require.LessOrEqual(t, n, c.files+inMemory)
		require.Greater(t, n, c.files)
	} else {
		require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(dir, "written")); return err == nil },
			time.Minute, 5*time.Millisecond, "the process must not wait for the reader")
	}
	if c.says != "" {
		require.Equal(t, 1, strings.Count(log.String(), "\n"), "%s", log.String())
		require.Contains(t, log.String(), c.says)
	} else {
		require.Empty(t, log.String())
	}
	reader.goOn()
	rec, err := s.Wait(ctx)
	require.NoError(t, err)
	require.Equal(t, 7, rec.Code)
	require.EqualValues(t, stallSize, rec.Stdout)
	require.Equal(t, sha256.Sum256(data), [32]byte(reader.Sum(nil)))
}

// settled waits until the process with the pid in the file stops writing, and returns how many
// bytes it has written.
func settled(t *testing.T, file string) (n int64) {
	since := time.Now()
	require.Eventually(t, func() bool {
		pid, err := os.ReadFile(file)
		if err != nil {
			return false
		}
		text, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/io")
		require.NoError(t, err, "the process must still run")
		var rchar, wchar int64
		_, err = fmt.Sscanf(string(text), "rchar: %d\nwchar: %d", &rchar, &wchar)
		require.NoError(t, err)
		if wchar != n || n == 0 {
			n, since = wchar, time.Now()
		}
		return time.Since(since) > 700*time.Millisecond
	}, time.Minute, 5*time.Millisecond)
	return n
}

func TestOutputWaitsForItsReader(t *testing.T) {
	for name, c := range map[string]stall{
		"in a file":            {dirs: []string{t.TempDir()}},
		"in a full file":       {dirs: []string{t.TempDir()}, spool: 2 << 20, waits: true, files: 2 << 20},
		"in memory only":       {waits: true},
		"directory is missing": {dirs: []string{"/no/such/directory"}, waits: true, says: "no such file or directory"},
	} {
		t.Run(name, c.run)
	}
}

// TestSpoolDirectoryRejectsFiles runs itself in a namespace that may mount. It uses a tmpfs of 1
// MiB, and a read-only tmpfs.
func TestSpoolDirectoryRejectsFiles(t *testing.T) {
	const inside = "MUSTER_TEST_MOUNTS"
	if os.Getenv(inside) == "" {
		inNamespace(t, inside)
		return
	}
	require.NoError(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	small, readOnly, good := t.TempDir(), t.TempDir(), t.TempDir()
	for _, dir := range []string{small, readOnly} {
		require.NoError(t, unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"))
	}
	require.NoError(t, unix.Mount("", readOnly, "", unix.MS_REMOUNT|unix.MS_RDONLY|unix.MS_BIND, ""))
	for name, c := range map[string]stall{
		"full":                         {dirs: []string{small}, waits: true, files: 1 << 20, says: "no space left on device"},
		"read-only":                    {dirs: []string{readOnly}, waits: true, says: "read-only file system"},
		"both":                         {dirs: []string{small, readOnly}, waits: true, files: 1 << 20, says: "read-only file system"},
		"full, then a good one":        {dirs: []string{small, good}},
		"read-only, then a good one":   {dirs: []string{readOnly, good}},
		"read-only, then the full one": {dirs: []string{readOnly, small}, waits: true, files: 1 << 20, says: "no space left on device"},
	} {
		t.Run(name, func(t *testing.T) {
			c.run(t)
			var st unix.Statfs_t
			require.NoError(t, unix.Statfs(small, &st))
			require.Equal(t, st.Blocks, st.Bfree, "the small file system must be empty again")
		})
	}
	for _, dir := range []string{small, readOnly} {
		require.NoError(t, unix.Unmount(dir, 0))
	}
}

// inNamespace runs the test again in its own mount namespace.
func inNamespace(t *testing.T, mark string) {
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=2m")
	cmd.Env = append(os.Environ(), mark+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		require.NotZero(t, os.Getuid(), "root must be able to mount: %v", err)
		t.Skipf("cannot mount (%v); exec/flow tests the same faults without mounts", err)
	}
	err := cmd.Wait()
	t.Logf("%s", out.Bytes())
	require.NoError(t, err)
	require.Equal(t, 6, strings.Count(out.String(), "    --- PASS: "), "number of cases that passed")
}

// TestLostSpillFile checks that a spill file that cannot be read ends its session with an error
// message, and no other session.
func TestLostSpillFile(t *testing.T) {
	log := &contract.Text{}
	w := contract.NewWorker(t, func(cfg *session.Config) {
		cfg.SpoolDirs = []string{t.TempDir()}
		cfg.Log = slog.New(slog.NewTextHandler(log, nil))
	})
	l := contract.NewLink(t, newWay(t).Dialer(t, w), nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	reader := newStopped(t)
	s, err := l.Open(ctx, "", wire.Spec{Line: "head -c 4000000 /dev/zero; sleep 60"}, link.Streams{Stdout: reader})
	require.NoError(t, err)
	input, typed := io.Pipe()
	heard := sha256.New()
	other, err := l.Open(ctx, "", wire.Spec{Line: "cat; exit 5"}, link.Streams{Stdin: input, Stdout: heard})
	require.NoError(t, err)
	// Wait until the last byte has been written. A later write would make the truncated file long
	// again.
	const inFile = 4000000 - 1<<20
	require.Eventually(t, func() bool { return spilled(t) >= inFile }, time.Minute, 5*time.Millisecond)
	for _, fd := range spillFiles(t) {
		require.NoError(t, os.Truncate(fd, 0)) // as if the disk was broken
	}
	reader.goOn()
	_, err = s.Wait(ctx)
	var lost *link.LostError
	require.ErrorAs(t, err, &lost)
	require.Equal(t, link.Unknown, lost.Kind)
	require.ErrorContains(t, err, "is lost: read spill file: ")
	require.Equal(t, 1, strings.Count(log.String(), "cannot read spilled output"), "%s", log.String())

	_, err = typed.Write([]byte("still here"))
	require.NoError(t, err)
	require.NoError(t, typed.Close())
	rec, err := other.Wait(ctx)
	require.NoError(t, err)
	require.Equal(t, 5, rec.Code)
	require.Equal(t, sha256.Sum256([]byte("still here")), [32]byte(heard.Sum(nil)))
}

// spillFiles returns the paths of this process's spill files.
func spillFiles(t *testing.T) (paths []string) {
	fds, err := filepath.Glob("/proc/self/fd/*")
	require.NoError(t, err)
	for _, fd := range fds {
		if name, err := os.Readlink(fd); err == nil && strings.Contains(name, "/spool-") {
			paths = append(paths, fd)
		}
	}
	return paths
}

// spilled returns the size of all spill files in bytes.
func spilled(t *testing.T) (n int64) {
	for _, fd := range spillFiles(t) {
		st, err := os.Stat(fd)
		require.NoError(t, err)
		n += st.Size()
	}
	return n
}
