//go:build linux

package reap

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestExitCodes(t *testing.T) {
	r := running(t)
	for code := range 256 {
		p, err := r.Start(Spec{Path: "/bin/sh", Argv: []string{"sh", "-c", fmt.Sprintf("exit %d", code)}})
		require.NoError(t, err)
		s := p.Status()
		require.Equal(t, code, s.Code)
		require.Zero(t, s.Signal)
	}
	require.Zero(t, r.Running())
}

func TestSignals(t *testing.T) {
	r := running(t)
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGABRT,
		syscall.SIGKILL, syscall.SIGUSR1, syscall.SIGSEGV, syscall.SIGPIPE, syscall.SIGTERM, 34, 64} {
		p, err := r.Start(Spec{Path: "/bin/sleep", Argv: []string{"sleep", "300"}})
		require.NoError(t, err)
		require.NoError(t, p.Signal(sig))
		require.Equal(t, 128+int(sig), p.Status().Code)
		require.Equal(t, sig, p.Status().Signal)
		require.ErrorIs(t, p.Signal(sig), os.ErrProcessDone)
	}
}

func TestStartedBeforeRun(t *testing.T) {
	r := New()
	p, err := r.Start(Spec{Path: "/bin/true"})
	require.NoError(t, err)
	waitFor(t, "a zombie", func() bool {
		procs, err := Scan(markEnv)
		require.NoError(t, err)
		z := pick(procs, p.PID())
		return len(z) == 1 && !z[0].Alive()
	})
	run(t, r)
	require.Zero(t, p.Status().Code)
}

func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), mode))
		return path
	}
	var orphans atomic.Int64
	r := New()
	r.OnOrphan = func(int, Status) { orphans.Add(1) }
	run(t, r)
	for _, c := range []struct {
		name  string
		spec  Spec
		errno syscall.Errno
		says  string
	}{
		{"no such file", Spec{Path: dir + "/none"}, syscall.ENOENT, "start " + dir + "/none: no such file"},
		{"not a directory", Spec{Path: write("plain", "", 0o644) + "/x"}, syscall.ENOTDIR, "not a directory"},
		{"not executable", Spec{Path: write("data", "x", 0o644)}, syscall.EACCES, "permission denied"},
		{"a directory", Spec{Path: dir}, syscall.EACCES, "permission denied"},
		{"no format", Spec{Path: write("text", "text", 0o755)}, syscall.ENOEXEC, "exec format error"},
		{"no interpreter", Spec{Path: write("script", "#!/none/sh\n", 0o755)}, syscall.ENOENT, "the interpreter or loader of the program is missing"},
		{"no directory", Spec{Path: "/bin/true", Dir: dir + "/none"}, syscall.ENOENT, "change directory to " + dir + "/none"},
		{"NUL in argument", Spec{Path: "/bin/true", Argv: []string{"true", "a\x00b"}}, syscall.EINVAL, "invalid argument"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := r.Start(c.spec)
			require.Nil(t, p)
			require.ErrorIs(t, err, c.errno)
			require.ErrorContains(t, err, c.says)
		})
	}
	require.Zero(t, r.Running())
	require.Zero(t, orphans.Load(), "the child of a failed execve is not an orphan")
}

func TestSpecReachesTheProcess(t *testing.T) {
	r := running(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Setenv("LEAKED", "1")
	out, w, err := os.Pipe()
	require.NoError(t, err)
	defer out.Close()
	p, err := r.Start(Spec{Path: "/bin/sh", Dir: dir, Setsid: true, OOMScoreAdj: 1000, Env: []string{"A=b c"},
		Argv:  []string{"sh", "-c", `read x; pwd; echo "$A/$LEAKED/$x"; cut -d" " -f5,6 /proc/$$/stat; echo $$; while read a < /proc/$$/oom_score_adj; do [ $a = 1000 ] && break; done; echo $a; ls -l /proc/$$/fd/2`},
		Files: []*os.File{nil, w}})
	require.NoError(t, err)
	w.Close()
	require.Equal(t, dir+"\n", readLine(t, out))
	require.Equal(t, "b c//\n", readLine(t, out))
	require.Equal(t, fmt.Sprintf("%d %[1]d\n", p.PID()), readLine(t, out), "its own process group and session")
	require.Equal(t, fmt.Sprintf("%d\n", p.PID()), readLine(t, out))
	require.Equal(t, "1000\n", readLine(t, out))
	require.True(t, strings.HasSuffix(readLine(t, out), "-> /dev/null\n"))
	require.Zero(t, p.Status().Code)
}

func TestEnded(t *testing.T) {
	r := New()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, r.Run(ctx))
	require.Error(t, r.Run(ctx))
	_, err := r.Start(Spec{Path: "/bin/true"})
	require.ErrorIs(t, err, ErrNotRunning)
}

func TestPollsOnlyWithChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		chld, started := make(chan os.Signal), make(chan struct{})
		var children atomic.Bool
		var sweeps atomic.Int32
		ctx, cancel := context.WithCancel(t.Context())
		go loop(ctx, chld, started, func() bool { sweeps.Add(1); return children.Load() })
		after := func(d time.Duration, want int32) {
			sweeps.Store(0)
			time.Sleep(d)
			synctest.Wait()
			require.Equal(t, want, sweeps.Load())
		}
		synctest.Wait()
		require.EqualValues(t, 1, sweeps.Load(), "the sweep at start")
		after(24*time.Hour, 0)
		children.Store(true)
		started <- struct{}{}
		synctest.Wait()
		after(time.Minute, 6)
		children.Store(false)
		chld <- syscall.SIGCHLD
		synctest.Wait()
		after(24*time.Hour, 0)
		sweeps.Store(0)
		cancel()
		synctest.Wait()
		require.EqualValues(t, 1, sweeps.Load(), "the sweep at the end")
	})
}

func TestOrphansAreReported(t *testing.T) {
	if !inside(t) {
		return
	}
	require.NoError(t, Subreaper())
	type end struct {
		pid int
		s   Status
	}
	ends := make(chan end, 8)
	r := New()
	r.OnOrphan = func(pid int, s Status) { ends <- end{pid, s} }
	run(t, r)
	tree := NewTree(markEnv, "s1")
	p, out := sh(t, r, "s1", `exec 3<&0; sh -c 'echo $$; read x <&3; exit 41' & exit 7`, false)
	tree.Add(p)
	var daemon int
	_, err := fmt.Sscan(readLine(t, out), &daemon)
	require.NoError(t, err)
	require.Equal(t, 7, p.Status().Code)
	_, err = tree.Find()
	require.NoError(t, err)
	procs, err := Scan(markEnv)
	require.NoError(t, err)
	require.NoError(t, Signal(pick(procs, daemon)[0], syscall.SIGUSR2))
	e := <-ends
	require.Equal(t, daemon, e.pid)
	require.Equal(t, 128+int(syscall.SIGUSR2), e.s.Code)
	require.Empty(t, ends)
}
