//go:build linux

package stacks_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/stacks"
)

// image sets PATH to a directory with these programs, which are shell scripts, and with the
// programs that they need.
func image(t *testing.T, scripts map[string]string) {
	dir := t.TempDir()
	for name, script := range scripts {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	}
	for _, name := range []string{"sleep", "yes", "sh", "kill"} {
		path, err := exec.LookPath(name)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(path, filepath.Join(dir, name)))
	}
	t.Setenv("PATH", dir)
}

// outside takes the stacks with programs of the image. Its Reaper runs until the test ends.
func outside(t *testing.T, slow bool, limit time.Duration, procs ...reap.Proc) []stacks.Stack {
	r := reap.New()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = r.Run(ctx)
	}()
	defer func() {
		require.Zero(t, r.Running(), "a program still runs")
		stop()
		<-done
	}()
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return stacks.Outside{Reaper: r, Slow: slow}.Take(within, procs)
}

// native starts a program that is no Python and computes. It returns when eu-stack may be used.
func native(t *testing.T) reap.Proc { return counting(t, "PATH=/nowhere") }

func counting(t *testing.T, env ...string) reap.Proc {
	return grown(begin(t, &exec.Cmd{Path: "/usr/bin/awk", Args: []string{"awk", `BEGIN { print "on"; fflush(); for (;;) n++ }`}, Env: env}))
}

// grown returns p when it is old enough.
func grown(p reap.Proc) reap.Proc {
	time.Sleep(1100*time.Millisecond - p.Age())
	return p
}

func isolated(t *testing.T) reap.Proc {
	path, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output() // python3 may be a script that starts the real program
	require.NoError(t, err)
	return grown(begin(t, &exec.Cmd{Path: strings.TrimSpace(string(path)), Args: []string{"python3", "-I", "-c", "import time; print('on', flush=True); time.sleep(1000)"}, Env: []string{"PATH=/nowhere"}}))
}

const (
	pySpy   = `[ "$1 $2 $3 $4" = "dump --nonblocking --full-filenames --pid" ] && printf 'Process %s: x\n\nThread %s (idle): "MainThread"\n    f (/a.py:3)\n' $5 $5`
	euStack = `[ "$1 $2 $3" = "-m -s -p" ] && printf 'PID %s - process\nTID %s:\n#0  0x0 f - /a\n' $4 $4; exit 1`
	gdb     = `[ "$1 $3 $4" = "-p -batch -nx" ] && printf 'Thread 1 (LWP %s):\n#0  f () at a.c:3\n' $2`
	refuses = "echo >&2 'ptrace: Operation not permitted'; exit 1"
)

// TestProgramsOfTheImage checks that the best program of the image is used that supports the
// process and is permitted.
func TestProgramsOfTheImage(t *testing.T) {
	const none = "no faulthandler: Python with -I, -E or -S, with another PYTHONPATH, or before 3.8"
	for name, c := range map[string]struct {
		scripts map[string]string
		python  bool
		slow    bool
		by      string
		why     string
	}{
		"Python, by py-spy":                 {map[string]string{"py-spy": pySpy, "eu-stack": euStack, "gdb": gdb}, true, false, "py-spy", ""},
		"C, by eu-stack":                    {map[string]string{"py-spy": pySpy, "eu-stack": euStack, "gdb": gdb}, false, true, "eu-stack", ""},
		"Python, by eu-stack":               {map[string]string{"eu-stack": euStack}, true, false, "eu-stack", ""},
		"py-spy fails":                      {map[string]string{"py-spy": refuses, "eu-stack": euStack}, true, false, "eu-stack", ""},
		"C, by gdb on request":              {map[string]string{"gdb": gdb}, false, true, "gdb", ""},
		"gdb only on request":               {map[string]string{"gdb": gdb}, false, false, "", "not Python; gdb: only `agent stacks` asks it"},
		"py-spy supports only Python":       {map[string]string{"py-spy": pySpy}, false, false, "", "not Python, and the image has no eu-stack or gdb"},
		"no program for Python":             {nil, true, true, "", none + ", and the image has no py-spy, eu-stack or gdb"},
		"all fail":                          {map[string]string{"eu-stack": refuses, "gdb": "exit 0"}, false, true, "", "not Python; eu-stack: ptrace: Operation not permitted; gdb: it printed no stack"},
		"a directory, no program":           {map[string]string{"gdb/x": ""}, false, true, "", "not Python, and the image has no eu-stack or gdb"},
		"a program that cannot be executed": {map[string]string{"eu-stack": "\x00"}, false, true, "", "not Python; eu-stack: it printed no stack"},
		"a program that prints other text":  {map[string]string{"eu-stack": "echo hello"}, false, true, "", "not Python; eu-stack: it printed no stack"},
	} {
		t.Run(name, func(t *testing.T) {
			var p reap.Proc
			if c.python {
				p = isolated(t)
			} else {
				p = native(t)
			}
			if c.scripts["gdb/x"] != "" || strings.Contains(name, "directory") {
				dir := t.TempDir()
				require.NoError(t, os.Mkdir(filepath.Join(dir, "gdb"), 0o755))
				t.Setenv("PATH", dir)
			} else {
				image(t, c.scripts)
			}
			got := outside(t, c.slow, 20*time.Second, p)[0]
			require.Equal(t, c.by, got.By)
			require.Equal(t, c.why, got.Why)
			require.Equal(t, strings.Contains(c.why, "only `agent stacks`"), got.OnRequest)
			if c.by != "" {
				require.Contains(t, string(append(got.Text, got.Native...)), "f ")
				require.Equal(t, c.by == "py-spy", len(got.Text) > 0)
			}
			require.True(t, look(t, p.PID).Alive())
		})
	}
}

// TestProgramsOfTheRanksPath checks that a program in the rank's own PATH is found too, but only in
// absolute directories.
func TestProgramsOfTheRanksPath(t *testing.T) {
	image(t, map[string]string{"eu-stack": euStack})
	there := os.Getenv("PATH")
	p, other := counting(t, "A=1", "PATH=/nowhere:"+there), native(t)
	t.Setenv("PATH", ".:relative:")
	t.Chdir(there)
	require.Equal(t, "eu-stack", outside(t, false, 20*time.Second, p)[0].By)
	require.Equal(t, "not Python, and the image has no eu-stack or gdb", outside(t, false, 20*time.Second, other)[0].Why)
}

// TestNoProcessIsTracedThatMayExec checks that eu-stack is not used for processes that it could end: a process whose
// execve(2) comes while it attaches dies of SIGTRAP.
func TestNoProcessIsTracedThatMayExec(t *testing.T) {
	shell := grown(begin(t, &exec.Cmd{Path: "/bin/sh", Args: []string{"sh", "-c", "echo on; read nothing < /dev/zero"}, Env: []string{"PATH=/nowhere"}}))
	young := begin(t, &exec.Cmd{Path: "/bin/cat", Args: []string{"cat", "/proc/self/comm", "/dev/stdin"}, Stdin: endless(t), Env: []string{"PATH=/nowhere"}})
	trace := filepath.Join(t.TempDir(), "ran")
	image(t, map[string]string{"eu-stack": "echo > " + trace})
	got := outside(t, false, 20*time.Second, shell, young)
	require.Equal(t, "not Python; eu-stack: not used for a shell, which may start its program at any time", got[0].Why)
	require.Equal(t, "not Python; eu-stack: the process has just started", got[1].Why)
	require.NoFileExists(t, trace)
	got = outside(t, false, 20*time.Second, grown(young))
	require.FileExists(t, trace)
	require.Equal(t, "not Python; eu-stack: it printed no stack", got[0].Why)
}

// endless returns input that never comes.
func endless(t *testing.T) *os.File {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	return r
}

// TestReportingRankIsNotTraced checks that no program traces a rank that reports its stack itself.
func TestReportingRankIsNotTraced(t *testing.T) {
	p := python(t, "import time; print('on', flush=True); time.sleep(1000)")
	trace := filepath.Join(t.TempDir(), "ran")
	image(t, map[string]string{"py-spy": "echo > " + trace, "eu-stack": "echo > " + trace})
	got := outside(t, true, 20*time.Second, p)[0]
	require.Contains(t, string(got.Text), "most recent call first")
	require.Empty(t, got.By)
	require.NoFileExists(t, trace)
}

// TestEndlessProgramIsKilled checks that, after a program is killed in the middle of its work, a
// running process keeps running, and a stopped process stays stopped.
func TestEndlessProgramIsKilled(t *testing.T) {
	p, stopped := native(t), native(t)
	require.NoError(t, syscall.Kill(stopped.PID, syscall.SIGSTOP))
	require.Eventually(t, func() bool { return look(t, stopped.PID).State == 'T' }, 20*time.Second, time.Millisecond)
	image(t, map[string]string{"eu-stack": "kill -STOP $4; sleep 1000 & sleep 1000"}) // PTRACE_ATTACH sends that signal
	began := time.Now()
	got := outside(t, false, time.Second, p, look(t, stopped.PID))
	require.Less(t, time.Since(began), 5*time.Second)
	require.Equal(t, "not Python; eu-stack: no answer in time", got[0].Why)
	require.Equal(t, "state T: a stopped process does not answer; eu-stack: no answer in time", got[1].Why)
	require.Eventually(t, func() bool { return look(t, p.PID).State != 'T' }, 20*time.Second, time.Millisecond)
	require.Equal(t, byte('T'), look(t, stopped.PID).State)
}

// TestOutputOfAProgramIsBounded checks that endless output is cut, and that its program is stopped.
func TestOutputOfAProgramIsBounded(t *testing.T) {
	p := native(t)
	image(t, map[string]string{"eu-stack": "exec yes '#0  0x0 f'"})
	got := outside(t, false, time.Minute, p)[0]
	require.Len(t, got.Native, stacks.MostText)
	require.Equal(t, "eu-stack", got.By)
}

// TestRealProgramsShowC checks that the image's real programs show the line of a C thread, and that
// the process continues.
func TestRealProgramsShowC(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler")
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "f.c")
	require.NoError(t, os.WriteFile(source, []byte("#include <stdio.h>\n#include <unistd.h>\nint load_batch(void) { for (;;) pause(); }\nint main(void) { puts(\"on\"); fflush(stdout); return load_batch(); }\n"), 0o644))
	out, err := exec.Command(cc, "-g", "-O0", "-o", filepath.Join(dir, "f"), source).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, name := range []string{"eu-stack", "gdb"} {
		for _, state := range []byte("ST") {
			t.Run(fmt.Sprintf("%s/%c", name, state), func(t *testing.T) {
				path, err := exec.LookPath(name)
				if err != nil {
					t.Skip("not installed")
				}
				p := begin(t, &exec.Cmd{Path: filepath.Join(dir, "f"), Env: []string{"PATH=/nowhere"}})
				require.Eventually(t, func() bool { return reap.Look(p.PID).Call == "pause" }, 20*time.Second, time.Millisecond)
				grown(p)
				if state == 'T' {
					require.NoError(t, syscall.Kill(p.PID, syscall.SIGSTOP))
				}
				require.Eventually(t, func() bool { return look(t, p.PID).State == state }, 20*time.Second, time.Millisecond)
				image(t, map[string]string{name: "exec " + path + ` "$@"`})
				got := outside(t, true, time.Minute, look(t, p.PID))[0]
				require.Equal(t, name, got.By, got.Why)
				require.Contains(t, string(got.Native), "load_batch")
				require.Eventually(t, func() bool { return look(t, p.PID).State == state }, 20*time.Second, time.Millisecond)
				for limit := 2 * time.Millisecond; limit < 300*time.Millisecond; limit *= 2 { // kill the program at any moment
					outside(t, true, limit, look(t, p.PID))
					require.Eventually(t, func() bool { return look(t, p.PID).State == state && reap.Look(p.PID).Call == "pause" }, 20*time.Second, time.Millisecond, "%s", limit)
				}
			})
		}
	}
}
