//go:build linux

package pdsh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/musterhq/muster/exec/broker"
	"github.com/musterhq/muster/exec/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// here runs sessions as processes on this machine, and records the largest number of concurrent
// sessions.
type here struct{ now, most *atomic.Int64 }

type session struct {
	cmd  *exec.Cmd
	done chan struct{}
}

func (h here) Open(_ context.Context, _ string, spec wire.Spec, s broker.Streams) (broker.Session, error) {
	if s.Stdin != nil {
		return nil, errors.New("unexpected stdin")
	}
	x := &session{exec.Command("sh", "-c", spec.Line), make(chan struct{})}
	// The writers are wrapped, because the process must not get the descriptors themselves, which
	// are non-blocking.
	x.cmd.Stdout, x.cmd.Stderr = struct{ io.Writer }{s.Stdout}, struct{ io.Writer }{s.Stderr}
	x.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if n := h.now.Add(1); n > h.most.Load() {
		h.most.Store(n) // precise enough: the test only checks a limit
	}
	if err := x.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = x.cmd.Wait() // the exit code is in the state
		h.now.Add(-1)
		close(x.done)
	}()
	return x, nil
}

func (x *session) Wait(context.Context) (wire.ExitRecord, error) {
	<-x.done
	return wire.ExitRecord{Code: x.cmd.ProcessState.ExitCode()}, nil
}

func (x *session) Stop(time.Duration) { _ = syscall.Kill(-x.cmd.Process.Pid, syscall.SIGKILL) }

type everyHost struct{ here }

func (e everyHost) Resolve(host string) (broker.Target, error) {
	if host == "nobody" {
		return broker.Target{}, &broker.UnknownHostError{Host: host}
	}
	return broker.Target{Name: host, Opener: e.here}, nil
}

// pdsh runs words over a broker that runs commands on this machine.
func pdsh(t *testing.T, words ...string) (code int, out, err string, most int64) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	path := filepath.Join(dir, "s")
	l, lerr := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, lerr)
	ctx, stop := context.WithCancel(t.Context())
	e := everyHost{here{new(atomic.Int64), new(atomic.Int64)}}
	served := make(chan error, 1)
	go func() { served <- (&broker.Server{Resolver: e}).Serve(ctx, l) }()
	var o, c strings.Builder
	code = Run(path, parse(t, words...), Output{Name: "pdsh@here", Out: &o, Err: &c})
	stop()
	require.NoError(t, <-served)
	return code, o.String(), c.String(), e.most.Load()
}

func sorted(text string) []string {
	return slices.Sorted(strings.Lines(text))
}

func TestRun(t *testing.T) {
	code, out, err, _ := pdsh(t, "-w", "w-[0-2]", "echo %h has %n; echo at %n >&2; exit %n")
	require.Equal(t, 0, code)
	require.Equal(t, []string{"w-0: w-0 has 0\n", "w-1: w-1 has 1\n", "w-2: w-2 has 2\n"}, sorted(out))
	require.Equal(t, []string{"pdsh@here: w-1: exited with exit code 1\n", "pdsh@here: w-2: exited with exit code 2\n",
		"w-0: at 0\n", "w-1: at 1\n", "w-2: at 2\n"}, sorted(err))
	code, _, _, _ = pdsh(t, "-S", "-w", "w-[0-2]", "exit %n")
	require.Equal(t, 2, code)
}

func TestUnknownHost(t *testing.T) {
	code, out, err, _ := pdsh(t, "-S", "-w", "w1,nobody", "echo a")
	require.Equal(t, 255, code)
	require.Equal(t, "w1: a\n", out)
	require.Contains(t, err, `pdsh@here: nobody: unknown host "nobody"`)
}

func TestMissingBrokerIsReportedPerHost(t *testing.T) {
	var o, c strings.Builder
	code := Run("/nowhere", parse(t, "-S", "-w", "w[1-3]", "true"), Output{Name: "p", Out: &o, Err: &c})
	require.Equal(t, 255, code)
	require.Equal(t, 3, strings.Count(c.String(), "no launcher runs here"))
	require.Equal(t, 1, strings.Count(c.String(), "hint: "))
}

func TestFanOut(t *testing.T) {
	_, out, _, most := pdsh(t, "-f", "3", "-w", "w[1-20]", "true; echo %n")
	require.LessOrEqual(t, most, int64(3))
	require.Len(t, sorted(out), 20)
	_, out, _, _ = pdsh(t, "-f", "1", "-w", "w[1-9]", "echo %n")
	var want strings.Builder
	for i := range 9 {
		fmt.Fprintf(&want, "w%d: %d\n", i+1, i)
	}
	require.Equal(t, want.String(), out)
}

func TestTimeout(t *testing.T) {
	began := time.Now()
	code, out, err, _ := pdsh(t, "-S", "-u", "1", "-w", "w1", "echo first; exec sleep 300")
	require.Equal(t, exitFailed, code)
	require.Equal(t, "w1: first\n", out)
	require.Equal(t, "pdsh@here: w1: command timeout\n", err)
	require.Less(t, time.Since(began), 200*time.Second)
}

func TestLines(t *testing.T) {
	for name, c := range map[string]struct{ flag, command, want string }{
		"no trailing newline":            {"-b", "printf 'a\\nb'", "w: a\nw: b\n"},
		"no output":                      {"-b", "true", ""},
		"empty lines":                    {"-b", "echo; echo", "w: \nw: \n"},
		"no labels":                      {"-N", "printf 'a\\nb'", "a\nb"},
		"NUL byte":                       {"-b", "printf 'a\\0b\\n'", "w: a\x00b\n"},
		"an endless line":                {"-b", fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x", maxLine+1), "w: " + strings.Repeat("x", maxLine) + "\nw: x\n"},
		"an endless line without labels": {"-N", fmt.Sprintf("head -c %d /dev/zero", maxLine+1), strings.Repeat("\x00", maxLine+1)},
		"many lines":                     {"-b", "seq 20000", "w: " + strings.ReplaceAll(strings.TrimSpace(seq(20000)), "\n", "\nw: ") + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			_, out, _, _ := pdsh(t, c.flag, "-w", "w", c.command)
			require.True(t, c.want == out, "%d bytes instead of %d: %.100q", len(out), len(c.want), out)
		})
	}
}

func seq(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintln(&b, i+1)
	}
	return b.String()
}

// TestLinesAreNeverMixed checks that concurrent lines of many hosts are all complete.
func TestLinesAreNeverMixed(t *testing.T) {
	_, out, _, _ := pdsh(t, "-w", "w[0-15]", "seq -f 'a line of some length from %h, number %g' 300")
	at := map[string]int{}
	for line := range strings.Lines(out) {
		host, _, _ := strings.Cut(line, ":")
		at[host]++
		require.Equal(t, fmt.Sprintf("%s: a line of some length from %s, number %d\n", host, host, at[host]), line)
	}
	require.Len(t, at, 16)
	for host, n := range at {
		require.Equal(t, 300, n, host)
	}
}
