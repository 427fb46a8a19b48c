//go:build mpi

package fake

import (
	_ "embed"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/names"
)

//go:embed testdata/still.py
var stillSource []byte

// still is a run of three ranks of still.py, started by each mpirun and as a
// group.
func still(t *testing.T, way string, seconds int, flags ...string) map[string]call {
	script := filepath.Join(t.TempDir(), "still.py")
	require.NoError(t, os.WriteFile(script, stillSource, 0o644))
	calls := map[string]call{}
	for name, command := range map[string][]string{
		"openmpi": {"mpirun.openmpi", "-np", "3"}, "mpich": {"mpiexec.mpich", "-np", "3"}, "group": nil,
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		port := l.Addr().(*net.TCPAddr).Port
		require.NoError(t, l.Close())
		all := append([]string{"--fake=3", "--grace=5s"}, flags...)
		if command == nil {
			all = append(all, "--framework=torch")
		}
		calls[name] = agentRun(t, all, append(command, "/usr/bin/python3", script, way, fmt.Sprint(seconds), fmt.Sprint(port))...)
	}
	return calls
}

const seemsToHang = "seems to hang: for 4.0 s nothing was printed, and no rank has used a processor"

// TestHangIsReported: one rank sits in a receive that nobody sends. The report
// names the ranks and the call, comes once, and changes nothing.
func TestHangIsReported(t *testing.T) {
	for name, c := range still(t, "wait", 16, "--hang-after=4s") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := run(t, c)
			o.wants(t, 0)
			require.Equal(t, 1, strings.Count(o.err, seemsToHang), o.err)
			require.Equal(t, 1, o.report.Hangs)
			require.Regexp(t, `(?m)^agent:   rank 1 on 127\.0\.0\.3: waiting for a socket at still\.py:\d+ <module> \(python3[0-9.]*, pid \d+; recvfrom`, o.err)
			require.Regexp(t, `(?m)^agent:   ranks 0, 2: waiting for 127\.0\.0\.1:\d+ at still\.py:\d+ <module> \(python3[0-9.]*, pid \d+; recvfrom`, o.err)
			require.NotContains(t, o.err, "hint: its stack", "it is there")
			require.NotContains(t, o.err, "Look at", "all wait")
			for i := range 3 {
				require.Contains(t, o.out, fmt.Sprintf("rank %d ends\n", i))
			}
		})
	}
}

// TestHangIsStopped: the run ends with the code for it, and nothing is left.
func TestHangIsStopped(t *testing.T) {
	for name, c := range still(t, "wait", 80, "--hang-after=4s", "--hang-action=stop") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := run(t, c)
			o.wants(t, names.ExitHung)
			require.Equal(t, 1, strings.Count(o.err, seemsToHang), o.err)
			require.Contains(t, o.err, " hung for 4.0 s and was stopped")
			require.Less(t, o.took, 40*time.Second)
		})
	}
}

// TestHangIsBegunAgain: after a hang as after any other end, where the user wants
// that.
func TestHangIsBegunAgain(t *testing.T) {
	t.Parallel()
	for name, c := range still(t, "wait", 80, "--hang-after=4s", "--hang-action=stop", "--max-restarts=1", "--restart-on=hang") {
		if name == "group" {
			o := run(t, c)
			o.wants(t, names.ExitHung)
			require.Equal(t, 2, strings.Count(o.err, seemsToHang), o.err)
			require.Contains(t, o.err, "attempt 2 of 2")
			require.Equal(t, 6, strings.Count(o.out, " begins\n"), o.out)
		}
	}
}

// TestNoHangIsReported: ranks that compute for longer than the time and say
// nothing, and ranks that say something now and then.
func TestNoHangIsReported(t *testing.T) {
	for _, way := range []string{"spin", "talk"} {
		for name, c := range still(t, way, 14, "--hang-after=3s", "--hang-action=stop") {
			t.Run(way+"/"+name, func(t *testing.T) {
				t.Parallel()
				o := run(t, c)
				o.wants(t, 0)
				require.NotContains(t, o.err, "hang")
				require.Zero(t, o.report.Hangs)
			})
		}
	}
}

// hungCell is a run of three ranks of hung.py.
type hungCell struct {
	transport string
	way       string
	failure   bool     // the others give up; else a hang is looked for, or stacks are asked for
	env       []string // of the ranks
	path      string   // PATH=..., of the whole run; "": that of the tests
}

// hungWays are the ways to hang, and what is said of each.
var hungWays = map[string]string{
	"sleep": "sleeping",
	"futex": "waiting for a lock",
	"gil":   "sleeping",
	"read":  "reading from a pipe or a file",
	"stop":  "stopped, as by SIGSTOP",
	"loop":  "running",
	"left":  "sleeping",
}

// play runs a cell and returns all that is said.
func (c hungCell) play(t *testing.T) (said string, o outcome) {
	dir := t.TempDir()
	script := laid(t, "hung.py")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	require.NoError(t, l.Close())
	const python = "/usr/bin/python3"
	flags := []string{"--fake=3", "--grace=2s", "--chdir=" + dir}
	for _, kv := range c.env {
		flags = append(flags, "--env="+kv)
	}
	seconds := "0"
	if c.failure {
		seconds = "5"
	}
	argv := []string{python, script, c.transport, c.way, seconds, port}
	if c.transport == "mpi" { // its ranks poll, so nobody notices that they hang
		wait := "while ! [ -e there.0 -a -e there.1 -a -e there.2 ]; do sleep .1; done; sleep 1; agent stacks >&2; kill $!; wait $!; exit 3"
		argv = []string{"bash", "-c", "mpirun.openmpi --oversubscribe -np 3 " + strings.Join(argv, " ") + " & " + wait}
	} else {
		flags = append(flags, "--framework=torch")
		if !c.failure {
			flags = append(flags, "--hang-after=3s", "--hang-action=stop")
		}
	}
	one := agentRun(t, flags, argv...)
	if c.path != "" {
		one.env = []string{c.path}
	}
	o = run(t, one)
	return o.err, o
}

// named requires that rank 1 is named first, with its line, and nobody else is blamed.
func (c hungCell) named(t *testing.T) {
	said, o := c.play(t)
	place := `: ` + hungWays[c.way] + ` at hung\.py:\d+ load_batch`
	first := `(?m)^agent:   rank 1 on 127\.0\.0\.3: ` + hungWays[c.way] + ` at hung\.py:\d+ load_batch \(`
	if c.way == "stop" { // it runs no handler
		place = `: stopped, as by SIGSTOP.*`
		first = `(?m)^agent:   rank 1 on 127\.0\.0\.3: stopped, as by SIGSTOP.* \(.*; (by (py-spy|eu-stack)|no stack: state T: a stopped process does not answer.*)\)$`
	}
	if c.transport == "mpi" {
		if c.way == "loop" {
			place = `: running: computing, or polling in MPI at hung\.py:\d+ load_batch`
		}
		require.Regexp(t, `(?m)^ranks 0, 2 are at hung\.py:\d+ \w+; rank 1 on 127\.0\.0\.3 stands apart`+place+`$`, said)
		return
	}
	require.Regexp(t, `(?m)^agent: .*; rank 1 on 127\.0\.0\.3 (is|was) not waiting`+place+`\. Look at rank 1 first\.$`, said)
	require.Equal(t, 1, strings.Count(said, "Look at "), said)
	require.Regexp(t, first, said)
	require.Len(t, o.report.Blames, 1)
	require.Contains(t, o.report.Blames[0].Sentence, "rank 1 on 127.0.0.3")
	require.Equal(t, "1", regexp.MustCompile(`(?m)^agent:   ranks? (\d+)(?: on |[-,:])`).FindStringSubmatch(said)[1], "it comes first:\n%s", said)
}

// TestHungRankIsNamed: the peer that gave up is not all that the user learns, nor is a
// list of system calls.
func TestHungRankIsNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []hungCell{
		{transport: "plain", way: "sleep"},
		{transport: "plain", way: "read", failure: true},
		{transport: "plain", way: "loop", failure: true},
		{transport: "mpi", way: "sleep"},
	} {
		name := c.transport + "/" + c.way
		if c.failure {
			name += "/the others give up"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.named(t)
		})
	}
}

// TestNobodyIsBlamed: where a rank fails by a fault of its own, and where stacks are not wanted.
func TestNobodyIsBlamed(t *testing.T) {
	t.Parallel()
	fails := `import os, time
if os.environ["RANK"] == "1": time.sleep(1); raise ValueError("of its own")
time.sleep(1000)`
	o := run(t, agentRun(t, []string{"--fake=3", "--framework=torch"}, "/usr/bin/python3", "-c", fails))
	o.wants(t, 1)
	require.NotContains(t, o.err, "Look at ")
	require.NotContains(t, o.err, "not waiting")
	require.Empty(t, o.report.Blames)

	o = run(t, agentRun(t, []string{"--fake=2", "--framework=torch", "--stacks=never", "--hang-after=2s", "--hang-action=stop"},
		"/usr/bin/python3", "-c", "import os, time; print(os.environ.get('PYTHONPATH')); time.sleep(1000)"))
	o.wants(t, 79)
	require.Contains(t, o.out, "None")
	require.Contains(t, o.err, "hint: its stack: ")
	require.NotContains(t, o.err, "File ")
}
