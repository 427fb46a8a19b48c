//go:build mpi

package fake

import (
	"cmp"
	_ "embed"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// hungCell is a run of three ranks of hung.py.
type hungCell struct {
	transport string
	way       string
	failure   bool   // the other ranks time out; otherwise hang detection or stacks are tested
	python    string // of the ranks; "" for Debian's
	path      string // PATH=... of the whole run; "" for the PATH of the tests
}

// hungWays has the ways to hang, with the report of each.
var hungWays = map[string]string{
	"sleep": "sleeping",
	"futex": "waiting for a lock",
	"gil":   "sleeping",
	"read":  "reading from a pipe or a file",
	"stop":  "stopped, as by SIGSTOP",
	"loop":  "running",
	"left":  "sleeping",
}

// play runs a cell and returns its output.
func (c hungCell) play(t *testing.T) (said string, o outcome) {
	dir := t.TempDir()
	script := laid(t, "hung.py")
	port := strconv.Itoa(freePort(t))
	python := cmp.Or(c.python, "/usr/bin/python3")
	flags := []string{"--fake=3", "--grace=2s", "--chdir=" + dir}
	seconds := "0"
	if c.failure {
		seconds = "5"
	}
	argv := []string{python, script, c.transport, c.way, seconds, port}
	if c.transport == "mpi" { // its ranks poll, so hang detection does not notice them
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

// named requires that the report names rank 1 first, with its line, and blames no other rank.
func (c hungCell) named(t *testing.T) {
	said, o := c.play(t)
	place := `: ` + hungWays[c.way] + ` at hung\.py:\d+ load_batch`
	first := `(?m)^agent:   rank 1 on 127\.0\.0\.3: ` + hungWays[c.way] + ` at hung\.py:\d+ load_batch \(`
	if c.way == "stop" { // a stopped rank runs no handler
		place = `: stopped, as by SIGSTOP.*`
		first = `(?m)^agent:   rank 1 on 127\.0\.0\.3: stopped, as by SIGSTOP.* \(.*; (by (py-spy|eu-stack)|no stack: state T: a stopped process does not answer.*)\)$`
	}
	if c.transport == "mpi" {
		if c.way == "loop" {
			place = `: running: computing, or polling in MPI at hung\.py:\d+ load_batch`
		}
		require.Regexp(t, `(?m)^ranks 0, 2 are at hung\.py:\d+ \w+; rank 1 on 127\.0\.0\.3 differs`+place+`$`, said)
		return
	}
	require.Regexp(t, `(?m)^agent: .*; rank 1 on 127\.0\.0\.3 (is|was) not waiting`+place+`\. Look at rank 1 first\.$`, said)
	require.Equal(t, 1, strings.Count(said, "Look at "), said)
	require.Regexp(t, first, said)
	require.Len(t, o.report.Blames, 1)
	require.Contains(t, o.report.Blames[0].Sentence, "rank 1 on 127.0.0.3")
	require.Equal(t, "1", regexp.MustCompile(`(?m)^agent:   ranks? (\d+)(?: on |[-,:])`).FindStringSubmatch(said)[1], "rank 1 comes first:\n%s", said)
}

// TestHungRankIsNamed checks that the user learns more than which rank timed out, and more than a list of system
// calls.
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
