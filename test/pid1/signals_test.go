//go:build linux

package pid1

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/test/suite/figure"
)

// rows returns the rows of the tables of docs/explanation/pid1.md whose first header is head, as cells.
func rows(t *testing.T, head string) [][]string {
	root, err := figure.Root()
	require.NoError(t, err)
	page, err := os.ReadFile(filepath.Join(root, "docs", "explanation", "pid1.md"))
	require.NoError(t, err)
	var found [][]string
	in := false
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case !strings.HasPrefix(line, "|"):
			in = false
		case cells[0] == head:
			in = true
		case in && !strings.HasPrefix(cells[0], "---"):
			found = append(found, cells)
		}
	}
	require.NotEmpty(t, found, "no table %q in docs/explanation/pid1.md", head)
	return found
}

// catcher answers every signal that can be caught with its number, and exits with 7 after a signal that stops a
// worker. It is not a shell script: a shell that gets a signal between checking its traps and its read does not run
// the trap until the next signal.
const catcher = `exec perl -e '
my @name = qw(ZERO HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM
	STKFLT CHLD CONT STOP TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS);
for my $n (grep { $_ != 9 && $_ != 19 } 1 .. 31) {
	$SIG{$name[$n]} = sub { syswrite STDOUT, "$n\n"; exit 7 if $n == 2 || $n == 3 || $n == 15 };
}
syswrite STDOUT, "ready\n";
select undef, undef, undef, 0.05 while 1;'`

// TestSignals sends each signal to a worker with a session that reports signals.
func TestSignals(t *testing.T) {
	table := rows(t, "n")
	require.Len(t, table, 31)
	for i, row := range table {
		n, err := strconv.Atoi(row[0])
		require.NoError(t, err)
		require.Equal(t, i+1, n, "rows in order")
		sig := syscall.Signal(n)
		require.Equal(t, unix.SignalName(sig), row[1])
		t.Run(row[1], func(t *testing.T) {
			t.Parallel()
			switch row[4] {
			case "stops":
				stops(t, sig, true)
				stops(t, sig, false)
			case "forwarded":
				stays(t, sig, strconv.Itoa(n)+"\n")
			case "dropped", "own":
				stays(t, sig, "")
			case "kernel":
				uncatchable(t, sig)
			default:
				t.Fatalf("unknown effect %q in the table", row[4])
			}
		})
	}
}

// stays sends sig from inside and from outside. The session prints want each time and nothing else, and the worker
// keeps serving.
func stays(t *testing.T, sig syscall.Signal, want string) {
	w := start(t, "init", nil).up(t)
	l := w.link(t, nil)
	c := open(t, l, wire.Spec{Line: catcher})
	c.says(t, "ready\n")
	heard := "ready\n"
	for _, send := range []func(){
		func() {
			// PID 1 forwards the signal to the sender's process group too, so the sender ignores it.
			rec, said := sh(t, l, fmt.Sprintf("trap '' %d; kill -%[1]d 1", sig))
			require.Zero(t, rec.Code, said)
		},
		func() { require.NoError(t, syscall.Kill(w.pid, sig)) },
	} {
		send()
		heard += want
		c.says(t, heard)
		// Signals arrive in order, so sig arrived before this one.
		require.NoError(t, syscall.Kill(w.pid, syscall.SIGWINCH))
		heard += "28\n"
		c.says(t, heard)
	}
	c.Signal(int(syscall.SIGTERM))
	require.Equal(t, 7, c.record(t).Code)
}

// stops checks that an idle worker exits with 0. A worker with sessions sends them the signal itself and exits with
// 128+n.
func stops(t *testing.T, sig syscall.Signal, inside bool) {
	idle := start(t, "init", nil).up(t)
	require.NoError(t, syscall.Kill(idle.pid, sig))
	require.Zero(t, idle.end(t))

	w := start(t, "init", nil, "--grace", "30s").up(t)
	l := w.link(t, nil)
	c := open(t, l, wire.Spec{Line: catcher})
	c.says(t, "ready\n")
	begin := time.Now()
	if inside {
		// kill is itself a leaf of the process tree, and may get the signal before it ends.
		open(t, l, wire.Spec{Line: fmt.Sprintf("kill -%d 1", sig)})
	} else {
		require.NoError(t, syscall.Kill(w.pid, sig))
	}
	rec := c.record(t)
	c.says(t, fmt.Sprintf("ready\n%d\n", sig))
	require.Equal(t, 7, rec.Code)
	require.Equal(t, wire.ReasonPreempted, rec.Reason)
	require.Equal(t, 128+int(sig), w.end(t))
	require.Less(t, time.Since(begin), 15*time.Second, "the worker must not wait for half of the grace")
}

// uncatchable checks that sig has no effect from inside. From outside, KILL ends the worker and STOP stops it until
// CONT.
func uncatchable(t *testing.T, sig syscall.Signal) {
	w := start(t, "init", nil).up(t)
	l := w.link(t, nil)
	rec, said := sh(t, l, fmt.Sprintf("kill -%d 1; echo still here", sig))
	require.Zero(t, rec.Code)
	require.Equal(t, "still here\n", said)
	ticks := open(t, l, wire.Spec{Line: `while :; do echo . >> ` + w.dir + `/ticks; sleep 0.01; done`})
	size := func() int64 {
		if st, err := os.Stat(w.dir + "/ticks"); err == nil {
			return st.Size()
		}
		return 0
	}
	waitFor(t, "ticks", func() bool { return size() > 0 })
	require.NoError(t, syscall.Kill(w.pid, sig))
	if sig == syscall.SIGKILL {
		require.Equal(t, 137, w.end(t))
		return
	}
	at := size()
	waitFor(t, "the session runs on", func() bool { return size() > at+4 })
	require.NoError(t, syscall.Kill(w.pid, syscall.SIGCONT))
	rec, _ = sh(t, l, "exit 9")
	require.Equal(t, 9, rec.Code)
	ticks.Stop(0)
	require.Equal(t, 137, ticks.record(t).Code)
}

// TestStopping tests how a worker stops a rank. The launcher's grace replaces the worker's own, whether it is
// longer or shorter. If the launcher sends no grace, the worker uses its own.
func TestStopping(t *testing.T) {
	t.Parallel()
	const saves = `trap "sleep 2; echo saved; exit 0" TERM; echo ready; while :; do read x; done`
	const stays = `trap "echo asked" TERM; trap "" INT; echo ready; while :; do read x; done`
	once := []syscall.Signal{syscall.SIGTERM}
	for name, row := range map[string]struct {
		worker   string
		launcher time.Duration
		signals  []syscall.Signal // each one after the rank has answered
		line     string
		says     string
		code     int
		least    time.Duration
	}{
		"a second signal kills":         {"10m", 0, append(once, once...), stays, "ready\nasked\n", 137, 0},
		"TERM at half time":             {"2s", 0, []syscall.Signal{syscall.SIGINT}, stays, "ready\nasked\n", 137, 2 * time.Second},
		"a longer launcher's grace":     {"1s", 30 * time.Second, once, saves, "ready\nsaved\n", 0, 2 * time.Second},
		"a shorter launcher's grace":    {"10m", 2 * time.Second, once, stays, "ready\nasked\n", 137, 2 * time.Second},
		"a launcher that sets no grace": {"30s", 0, once, saves, "ready\nsaved\n", 0, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, "init", nil, "--grace", row.worker).up(t)
			l := w.link(t, func(cfg *link.Config) { cfg.Hello.GraceMillis = row.launcher.Milliseconds() })
			s := open(t, l, wire.Spec{Line: row.line})
			begin := time.Now()
			for i, sig := range row.signals {
				s.says(t, []string{"ready\n", "ready\nasked\n"}[i])
				begin = time.Now()
				require.NoError(t, syscall.Kill(w.pid, sig))
			}
			ended := w.end(t)
			require.Equal(t, 128+int(row.signals[0]), ended)
			require.WithinRange(t, time.Now(), begin.Add(row.least), begin.Add(15*time.Second))
			if len(row.signals) > 1 {
				return // its output and how it ends depend on which signal comes first
			}
			rec := s.record(t)
			require.Equal(t, row.says, s.out.String())
			require.Equal(t, row.code, rec.Code)
			require.Equal(t, wire.ReasonPreempted, rec.Reason)
		})
	}
}
