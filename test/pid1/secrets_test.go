//go:build linux

package pid1

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/rundir"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/test/contract"
)

// bridged dials through `agent attach`, as pods/exec does.
type bridged struct {
	dir    string
	attach func(*exec.Cmd)
}

type bridge struct {
	io.Reader
	io.WriteCloser
	cmd *exec.Cmd
}

func (b bridge) Close() error {
	_ = b.cmd.Process.Kill() // a bridge holds no state
	_ = b.WriteCloser.Close()
	_ = b.cmd.Wait()
	return nil
}

func (d bridged) Dial(context.Context) (io.ReadWriteCloser, error) {
	cmd := exec.Command(agent, "attach")
	cmd.Env = []string{names.EnvDir + "=" + d.dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: owner, Gid: owner}}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	d.attach(cmd)
	return bridge{out, in, cmd}, nil
}

// TestSecretsStayOut runs sessions with secrets in their environment, arguments and input, through every kind of
// end and at the most verbose log level. No secret may appear in the log, the termination message, or the bridge's
// arguments and environment.
func TestSecretsStayOut(t *testing.T) {
	t.Parallel()
	secret := func(i int) string { return fmt.Sprintf("hunter%d-%s", i, wire.NewID()) }
	container, env, arg, input, dir := secret(1), secret(2), secret(3), secret(4), secret(5)
	w, last := startRestricted(t, owner, []string{"REGISTRY_PASSWORD=" + container}, "-v", "--grace", "1s")
	w.up(t)
	var bridges []int
	l := contract.NewLink(t, bridged{dir: filepath.Dir(w.socket), attach: func(c *exec.Cmd) { bridges = append(bridges, c.Process.Pid) }},
		func(c *link.Config) { c.PingEvery = 50 * time.Millisecond })
	vars := []string{"AWS_SECRET_ACCESS_KEY=" + env, "API_TOKEN=" + env, "MY_PASSWORD=" + env}
	for _, spec := range []wire.Spec{
		{Argv: []string{"/bin/sh", "-c", "exit 3", "--password=" + arg}, Env: vars},
		{Argv: []string{"no-such-program", "--token", arg}, Env: vars},
		{Argv: []string{"/bin/true"}, Env: vars, Dir: "/no/such/directory"},
		{Line: "TOKEN=" + arg + "; exit 4", Env: vars},
		{Argv: []string{"/bin/true", "a\x00" + arg}, Env: vars},
	} {
		require.NotZero(t, open(t, l, spec).record(t).Code+len(spec.Dir))
	}
	s := open(t, l, wire.Spec{Line: `read x; echo "$x $API_TOKEN $REGISTRY_PASSWORD"; exec sleep 1007`, Env: vars})
	_, err := fmt.Fprintln(s.open, input)
	require.NoError(t, err)
	s.says(t, fmt.Sprintln(input, env, container))
	_, err = l.Open(t.Context(), s.ID(), wire.Spec{Argv: []string{"other", arg}, Env: vars}, link.Streams{})
	require.NoError(t, err, "the worker refuses it later")
	s.Signal(28)

	require.Len(t, bridges, 1)
	words, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", bridges[0]))
	require.NoError(t, err)
	require.Equal(t, agent+"\x00attach\x00", string(words), "the bridge's arguments never change")
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", bridges[0]))
	require.NoError(t, err)
	s.Stop(time.Second)
	require.Equal(t, 143, s.record(t).Code)
	s = open(t, l, wire.Spec{Line: "cd /; exec sleep 1008", Env: append(vars, "DIR="+dir)})
	waitFor(t, "it runs", func() bool { return strings.Contains(strings.Join(commands(t, w.pid), "\n"), "sleep 1008") })
	s.Signal(15)
	require.Equal(t, 143, s.record(t).Code)
	open(t, l, wire.Spec{Line: "trap '' TERM; echo ready; while :; do sleep 1; done", Env: vars}).says(t, "ready\n")
	require.NoError(t, l.End(bounded(t), false, time.Second))
	require.Zero(t, w.end(t))
	final, err := os.ReadFile(last)
	require.NoError(t, err)
	require.NotEmpty(t, final)
	require.Contains(t, w.out.String(), "level=DEBUG")
	for _, word := range []string{container, env, arg, input, dir} {
		for where, text := range map[string]string{"log": w.out.String(), "termination message": string(final), "bridge": string(words) + string(environ)} {
			require.NotContains(t, text, word, where)
		}
	}
}

// TestAttachIsNotLedToAnotherSocket lets another user keep replacing our run directory, in a shared directory, with
// a link to their own. None of our bytes may reach their socket.
func TestAttachIsNotLedToAnotherSocket(t *testing.T) {
	t.Parallel()
	shared := t.TempDir()
	ours, link := filepath.Join(shared, "run"), filepath.Join(shared, "link")
	theirs := filepath.Join(shared, "theirs")
	require.NoError(t, os.Mkdir(ours, 0o700))
	require.NoError(t, os.Mkdir(theirs, 0o700))
	require.NoError(t, os.Symlink(theirs, link))
	var reached, led atomic.Int64
	count := func(dir string, n *atomic.Int64) (*net.UnixListener, func()) {
		ln, err := rundir.Listen(filepath.Join(dir, names.WorkerSocket))
		require.NoError(t, err)
		return ln, func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				n.Add(1)
				c.Close()
			}
		}
	}
	var wg sync.WaitGroup
	mine, serveMine := count(ours, &reached)
	other, serveOther := count(theirs, &led)
	wg.Go(serveMine)
	wg.Go(serveOther)
	var over atomic.Bool
	wg.Go(func() {
		for !over.Load() {
			if err := unix.Renameat2(unix.AT_FDCWD, ours, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 300 {
		cmd := exec.Command(agent, "attach")
		cmd.Env = []string{names.EnvDir + "=" + ours}
		_ = cmd.Run() // 0 or 255, depending on the directory at that moment
	}
	over.Store(true)
	mine.Close()
	other.Close()
	wg.Wait()
	require.Zero(t, led.Load(), "connections to another user's socket")
	require.NotZero(t, reached.Load(), "connections to our own socket")
}

// TestAttachDistrustsAnotherUsersServer checks that attach sends nothing to a server that runs neither as the
// socket's owner nor as root.
func TestAttachDistrustsAnotherUsersServer(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	require.NoError(t, os.Mkdir(dir, 0o700))
	l := listenAs(t, other, filepath.Join(dir, names.WorkerSocket))
	require.NoError(t, l.SetDeadline(time.Now().Add(10*time.Second)))
	received := make(chan string, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			received <- err.Error()
			return
		}
		defer c.Close()
		text, _ := io.ReadAll(c) // until attach closes
		received <- string(text)
	}()
	cmd := exec.Command(agent, "attach")
	cmd.Env, cmd.Stdin = []string{names.EnvDir + "=" + dir}, strings.NewReader("a token")
	out, err := cmd.CombinedOutput()
	require.Empty(t, <-received)
	require.Error(t, err)
	require.Contains(t, string(out), "served by uid 64102, not by uid 0")
}

// listenAs returns a listener on a socket that root owns. The process behind it has the given uid.
func listenAs(t *testing.T, uid int, path string) *net.UnixListener {
	t.Helper()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	file := os.NewFile(uintptr(fd), path)
	defer file.Close()
	require.NoError(t, unix.Bind(fd, &unix.SockaddrUnix{Name: path}))
	listening := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread must not outlive its uid
		const keep = ^uintptr(0)
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, keep, uintptr(uid), keep); errno != 0 {
			listening <- errno
			return
		}
		listening <- unix.Listen(fd, 1) // the kernel records the credentials of this call
	}()
	require.NoError(t, <-listening)
	l, err := net.FileListener(file)
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	return l.(*net.UnixListener)
}
