//go:build linux

package pid1

import (
	"context"
	"errors"
	"fmt"
	"io"
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

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/wire"
)

// rootEnv is the directory that becomes the root of a restricted worker.
const rootEnv = "PID1_TEST_ROOT"

// restricted prepares the environment of a container with a read-only root under the Pod Security level
// `restricted`: a user without a name, no capabilities, no new privileges, and no /tmp.
func restricted(args []string) error {
	root := os.Getenv(rootEnv)
	at := func(path string) string { return filepath.Join(root, path) }
	bind := func(from, to string, flags uintptr) error {
		if err := syscall.Mount(from, to, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
			return fmt.Errorf("bind %s: %w", from, err)
		}
		if flags == 0 {
			return nil
		}
		return syscall.Mount("", to, "", syscall.MS_BIND|syscall.MS_REMOUNT|flags, "")
	}
	if err := bind(root, root, syscall.MS_RDONLY); err != nil {
		return err
	}
	for _, dir := range []string{"bin", "lib", "lib64", "usr"} {
		if err := bind("/"+dir, at(dir), syscall.MS_RDONLY); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if err := errors.Join(
		syscall.Mount("proc", at("proc"), "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, ""),
		bind("/dev/null", at("dev/null"), 0),
		bind(at("../termination-log"), at("dev/termination-log"), 0),
	); err != nil {
		return err
	}
	if os.Getenv("NO_SHM") == "" {
		if err := syscall.Mount("shm", at("dev/shm"), "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, "mode=1777,size=64m"); err != nil {
			return err
		}
	}
	if err := errors.Join(syscall.Chroot(root), syscall.Chdir("/")); err != nil {
		return err
	}
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
			return err
		}
	}
	if err := errors.Join(changeUser(), unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)); err != nil {
		return err
	}
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, names.EnvDir+"=") && !strings.HasPrefix(kv, rootEnv) && !strings.HasPrefix(kv, "AGENT=") {
			env = append(env, kv)
		}
	}
	return syscall.Exec("/agent", append([]string{"/agent"}, args...), env)
}

// startRestricted makes the root and starts a worker in it. last is the path of the worker's termination message.
func startRestricted(t *testing.T, uid int, env []string, args ...string) (w *worker, last string) {
	t.Helper()
	dir := shortDir(t)
	require.NoError(t, os.Chmod(dir, 0o755))
	root := filepath.Join(dir, "root")
	for _, d := range []string{"", "bin", "lib", "lib64", "usr", "proc", "dev", "dev/shm", "run"} {
		require.NoError(t, os.Mkdir(filepath.Join(root, d), 0o755))
	}
	last = filepath.Join(dir, "termination-log")
	for _, f := range []string{last, filepath.Join(root, "dev/null"), filepath.Join(root, "dev/termination-log")} {
		require.NoError(t, os.WriteFile(f, nil, 0o666))
	}
	require.NoError(t, os.Chmod(last, 0o666)) // the mode that the kubelet gives it
	binary, err := os.ReadFile(agent)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(root, "agent"), binary, 0o755))
	w = start(t, "restricted", append(env, rootEnv+"="+root, userEnv+"="+strconv.Itoa(uid)), args...)
	w.socket = fmt.Sprintf("/proc/%d/root/dev/shm/muster-%d/%s", w.pid, uid, names.WorkerSocket)
	return w, last
}

func TestRestricted(t *testing.T) {
	t.Parallel()
	const uid = 1_000_730_000 // like the user IDs of OpenShift
	// In a pod, the agent also links itself to the path of kubexec.sh. Here it cannot.
	w, last := startRestricted(t, uid, []string{"KUBERNETES_SERVICE_HOST=198.18.0.1"})
	w.up(t)
	l := w.link(t, nil)
	rec, said := sh(t, l, `grep -E '^(Uid|CapEff|CapPrm|CapBnd|CapInh|NoNewPrivs):' /proc/self/status; echo "home $HOME"
test -e /tmp || echo no tmp; (: > /x) 2>/dev/null || echo read-only; exit 21`)
	require.Equal(t, 21, rec.Code)
	for _, want := range []string{"CapEff:\t0000000000000000", "CapPrm:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1",
		fmt.Sprintf("Uid:\t%d\t%[1]d", uid), fmt.Sprintf("home /dev/shm/muster-%d", uid), "no tmp", "read-only"} {
		require.Contains(t, said, want)
	}
	// Nothing can be spilled to files here: output that is not read stays in memory, its writer blocks, and no byte
	// is lost.
	g := &gate{opened: make(chan struct{})}
	s, err := l.Open(t.Context(), "", wire.Spec{Line: "yes | head -c 8388608"}, link.Streams{Stdout: g})
	require.NoError(t, err)
	exitCodes(t, l)
	require.False(t, s.Arrived())
	close(g.opened)
	rec = run{Session: s}.record(t)
	require.Zero(t, rec.Code)
	require.EqualValues(t, 8<<20, rec.Stdout)
	require.Equal(t, 8<<20, g.n)
	require.NoError(t, l.End(bounded(t), false, time.Second))
	require.Zero(t, w.end(t))
	words, err := os.ReadFile(last)
	require.NoError(t, err)
	require.Equal(t, "agent worker: the job is over\n", string(words))
}

func TestNothingWritable(t *testing.T) {
	t.Parallel()
	w, _ := startRestricted(t, owner, []string{"NO_SHM=1"})
	require.Equal(t, names.ExitUsage, w.end(t))
	for _, place := range []string{"/run/muster", "/muster/run", "/tmp/muster-64101", "/dev/shm/muster-64101"} {
		require.Contains(t, w.out.String(), place)
	}
}

// guest runs a line in the worker's namespaces as `kubectl exec` does: its parent is outside, not below PID 1.
func guest(t *testing.T, w *worker, line string) (ended chan struct{}) {
	cmd := exec.Command("nsenter", "-t", strconv.Itoa(w.pid), "-p", "-m", "sh", "-c", line)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	ended = make(chan struct{})
	b := make([]byte, 6)
	_, err = out.Read(b)
	require.NoError(t, err)
	require.Equal(t, "ready\n", string(b))
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		in.Close() // the line reads stdin
		<-ended
	})
	return ended
}

// TestKubectlExecOutlivesTheJob checks that shells of `kubectl exec` outlive the job. They get no signal that PID 1
// forwards, and their orphans are reaped.
func TestKubectlExecOutlivesTheJob(t *testing.T) {
	t.Parallel()
	w, l := inside(t)
	s := open(t, l, wire.Spec{Line: "echo ready; exec sleep 1010"})
	s.says(t, "ready\n")
	ended := guest(t, w, `(: &); echo ready; read x; exit 0`)
	rec, _ := sh(t, l, "trap '' USR1; kill -USR1 1; exit 0")
	require.Zero(t, rec.Code)
	require.Equal(t, 128+10, s.record(t).Code, "the session got the signal")
	open(t, l, wire.Spec{Line: "echo ready; exec sleep 1010"}).says(t, "ready\n")
	require.NoError(t, l.End(bounded(t), true, time.Second))
	w.empty(t)
	select {
	case <-ended:
		require.Fail(t, "the guest was stopped")
	default:
	}
}

// gate is a writer that blocks until it is opened.
type gate struct {
	opened chan struct{}
	n      int
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.opened
	g.n += len(p)
	return len(p), nil
}

// TestFileSizeLimit sets a limit on file sizes, so the kernel sends SIGXFSZ to a worker that spills. The worker
// keeps running, and no byte is lost.
func TestFileSizeLimit(t *testing.T) {
	t.Parallel()
	w, l := inside(t)
	require.NoError(t, unix.Prlimit(w.pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 4096, Max: unix.RLIM_INFINITY}, nil))
	g := &gate{opened: make(chan struct{})}
	const size = 8 << 20
	s, err := l.Open(t.Context(), "", wire.Spec{Argv: []string{"head", "-c", "8388608", "/dev/zero"}}, link.Streams{Stdout: g, Stderr: io.Discard})
	require.NoError(t, err)
	waitFor(t, "the worker reports that it cannot spill", func() bool { return strings.Contains(w.out.String(), "file too large") })
	rec, _ := sh(t, l, "exit 31")
	require.Equal(t, 31, rec.Code, "other sessions keep running")
	close(g.opened)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	rec, err = s.Wait(ctx)
	require.NoError(t, err)
	require.Zero(t, rec.Code)
	require.EqualValues(t, size, rec.Stdout)
	require.Equal(t, size, g.n)
}
