//go:build linux

package pid1

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/names"
)

// alone starts `agent join` as PID 1, as the only member, with one command.
func alone(t *testing.T, line string, flags ...string) *worker {
	args := append([]string{"--workers=1"}, flags...)
	return start(t, "join", []string{"MUSTER_TERMINATION_LOG="}, append(args, "--", "sh", "-c", line)...)
}

// TestJoinSignals tests a member with the worker's table: a signal that stops it reaches the command, which ends
// with its own code. Forwarded signals arrive. Other signals have no effect.
func TestJoinSignals(t *testing.T) {
	t.Parallel()
	w := alone(t, catcher)
	want := "ready\n"
	says := func() bool { return len(w.out.String()) >= len(want) }
	waitFor(t, "ready", says)
	for _, row := range rows(t, "n") {
		n, err := strconv.Atoi(row[0])
		require.NoError(t, err)
		switch row[4] {
		case "kernel", "stops":
			continue
		case "forwarded":
			want += row[0] + "\n"
		}
		require.NoError(t, syscall.Kill(w.pid, syscall.Signal(n)))
		waitFor(t, row[1]+": "+w.out.String(), says)
	}
	require.NoError(t, syscall.Kill(w.pid, syscall.SIGWINCH)) // signals arrive in order: earlier ones arrive before this one
	want += "28\n"
	waitFor(t, "all", says)
	require.Equal(t, want, w.out.String(), "no other signals")
	require.NoError(t, syscall.Kill(w.pid, syscall.SIGINT))
	require.Equal(t, 7, w.end(t))
	require.Contains(t, w.out.String(), "\n2\n", "the signal itself, not TERM")
	require.Equal(t, want+"2\n", withoutOurs(w.out.String()), "no other signals")
}

// TestJoinReaps checks that orphans leave no zombie, and that the member exits with the command's code.
func TestJoinReaps(t *testing.T) {
	t.Parallel()
	w := alone(t, `i=0; while [ $i -lt 500 ]; do (: & :); i=$((i+1)); done; echo forked; read x < $MUSTER_DIR/go; exit 77`)
	require.NoError(t, syscall.Mkfifo(w.dir+"/go", 0o600))
	waitFor(t, "forked", func() bool { return strings.Contains(w.out.String(), "forked") || w.ended == nil })
	waitFor(t, "only the command is left", func() bool { return len(below(t, w.pid)) <= 1 })
	go func() { // the reader may not have opened it yet
		if f, err := syscall.Open(w.dir+"/go", syscall.O_WRONLY, 0); err == nil {
			syscall.Close(f)
		}
	}()
	require.Equal(t, 77, w.end(t))
}

// withoutOurs removes the lines that the agent itself has written.
func withoutOurs(text string) (left string) {
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "agent: ") {
			left += line
		}
	}
	return left
}

// TestJoinStops checks a stop: TERM goes to the leaves of the process tree, then to all processes. A process that
// ignores it is killed after the grace. A second TERM kills at once.
func TestJoinStops(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, line string
		grace      string
		twice      bool
		code       int
		says       string
		ended      string // the agent's message about the rank
	}{
		{"a checkpoint is written", `trap "echo saved; exit 5" TERM; mkfifo $MUSTER_DIR/never; echo up; exec 2>/dev/null; read x < $MUSTER_DIR/never`, "20s", false, 5, "up\nsaved\n", "rank 0 ended by itself after"},
		{"ignores TERM", `trap '' TERM; echo up; while :; do sleep 0.05; done`, "1s", false, 137, "up\n", "rank 0 was killed"},
		{"ignores TERM, second TERM", `trap '' TERM; echo up; while :; do sleep 0.05; done`, "1h", true, 137, "up\n", "rank 0 was killed"},
		{"a daemon", `trap '' TERM; setsid sh -c "while :; do sleep 0.05; done" & echo up; exit 3`, "1s", false, 3, "up\n", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := alone(t, row.line, "--grace="+row.grace)
			waitFor(t, "up", func() bool { return strings.Contains(w.out.String(), "up\n") })
			_ = syscall.Kill(w.pid, syscall.SIGTERM) // the member of the last row may have ended by itself
			if row.twice {
				waitFor(t, "the first TERM", func() bool { return strings.Contains(w.out.String(), "agent: SIGTERM: ") })
				require.NoError(t, syscall.Kill(w.pid, syscall.SIGTERM))
			}
			require.Equal(t, row.code, w.end(t), "%s", w.out)
			require.Equal(t, row.says, withoutOurs(w.out.String()))
			require.Contains(t, w.out.String(), row.ended)
		})
	}
}

// TestJoinMembers starts three members, each as PID 1 of its own namespace. A failure ends all of them, and no
// daemon of the first attempt is left in the second one.
func TestJoinMembers(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	const line = `[ $MUSTER_ATTEMPT = 1 ] && { set -- /proc/[0-9]*; echo "$# processes"; exit 0; }
		setsid sh -c "trap '' TERM; while :; do sleep 0.05; done" >/dev/null 2>&1 &
		[ $RANK = 1 ] && { sleep 1; exit 9; }; exec sleep 1000`
	var all []*worker
	for rank := range 3 {
		all = append(all, start(t, "join", []string{"MUSTER_TERMINATION_LOG=", "MUSTER_TOKEN=0123456789abcdef", "MUSTER_POD_NAME=" + fmt.Sprintf("job-%d", rank)},
			"--workers=3", "--rank="+strconv.Itoa(rank), "--coordinator="+address, "--max-restarts=1", "--restart-on=+9", "--grace=1s", "--", "sh", "-c", line))
	}
	for rank, w := range all {
		require.Equal(t, 0, w.end(t), "rank %d: %s", rank, w.out)
		require.Contains(t, w.out.String(), "agent: attempt 2 of 2: rank 1 on job-1 exited with 9\n")
		require.Contains(t, w.out.String(), "\n2 processes\n", "PID 1 and the shell: rank %d", rank)
	}
}

// TestRanksCannotTakeTheirWorker checks that no process of a session can take the worker from its launcher, not
// even an orphan. The worker still answers probes from sessions, and serves processes that pods/exec starts beside
// PID 1.
func TestRanksCannotTakeTheirWorker(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	for _, role := range []string{"init", "pause"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			w := start(t, role, nil).up(t)
			l := w.link(t, nil)
			newer := "env " + roleEnv + "=dial " + self + " " + w.socket + " a newer launcher"
			for name, line := range map[string]string{
				"rank":   "exec " + newer,
				"child":  newer + "; :",
				"orphan": "(env -i setsid sh -c 'sleep 0.2; " + newer + "; :' &); sleep 0.1; exit 0",
			} {
				rec, said := sh(t, l, line)
				require.Zero(t, rec.Code, name)
				require.Contains(t, said, `"reason":"peer"`, name)
				require.NotContains(t, said, "launcher-a", "the epoch of the worker's launcher")
			}
			rec, said := sh(t, l, names.EnvDir+"="+w.dir+" "+agent+" ready")
			require.Zero(t, rec.Code, said)
			rec, said = sh(t, l, "exit 3")
			require.Equal(t, 3, rec.Code, "the launcher still has its link: %s", said)

			beside := exec.Command("nsenter", "-t", strconv.Itoa(w.pid), "-p", "-m", "sh", "-c", newer+"; :")
			out, err := beside.CombinedOutput()
			require.NoError(t, err)
			require.Equal(t, "welcome\n", string(out))
		})
	}
}
