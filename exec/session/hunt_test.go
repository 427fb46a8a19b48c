//go:build linux

package session

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/names"
)

// TestSettled checks that a hunt searches less only while each line has a daemon.
func TestSettled(t *testing.T) {
	s, _ := linked(t, 3)
	var lines []*session
	for _, x := range s.sessions {
		lines = append(lines, x)
	}
	lines[0].line, lines[1].line = true, true
	h := &hunter{o: s.observer, daemons: map[int]daemon{1: {"orted", nil}}}
	require.False(t, h.settled(), "a daemon whose session is not known yet")
	h.daemons[2] = daemon{"orted", lines[0]}
	require.False(t, h.settled(), "one of two lines has a daemon")
	h.daemons[3] = daemon{"orted", lines[1]}
	require.True(t, h.settled(), "a session without a line needs none")
	delete(h.daemons, 3)
	lines[1].enter(ended)
	require.True(t, h.settled(), "the other line has ended")
}

// TestADaemonHasGone checks that the end of a daemon starts a search: one that becomes a daemon
// (daemon(3)) leaves its child behind.
func TestADaemonHasGone(t *testing.T) {
	s, _ := linked(t, 0)
	cmd := exec.Command("/bin/cat")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	h := &hunter{o: s.observer, daemons: map[int]daemon{cmd.Process.Pid: {"cat", nil}}}
	h.ranks()
	require.False(t, h.gone)
	require.NoError(t, in.Close())
	require.NoError(t, cmd.Wait())
	h.ranks()
	require.True(t, h.gone)
}

// TestChildren checks that the children of each thread are found. One read suffices for a process
// with one thread.
func TestChildren(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", "cat <&3 & echo $!; wait") // 3: a background command has no standard input
	ours, theirs, err := os.Pipe()
	require.NoError(t, err)
	cmd.ExtraFiles = []*os.File{ours}
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	require.NoError(t, ours.Close())
	t.Cleanup(func() {
		require.NoError(t, theirs.Close())
		require.NoError(t, cmd.Wait())
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	child, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	h := &hunter{}
	p := h.stat(cmd.Process.Pid)
	require.Equal(t, []int{child}, h.children(p))
	p.Threads = 2
	require.Equal(t, []int{child}, h.children(p), "by a list of the threads")
}

// TestDaemonBelowADaemon checks that ranks are found below a daemon that another daemon has started or become.
func TestDaemonBelowADaemon(t *testing.T) {
	const ranks = "read x <&3; cat <&3; :" // 3: a background command has no standard input
	for mpi, c := range map[string]struct {
		first, script string
		before        kind // of the child, until it has a rank or becomes one
		after         []kind
	}{
		"Open MPI 5":          {"prted", "(" + ranks + ") & wait", ofUnborn, []kind{ofRank, ofDaemon}},
		"Intel MPI":           {"hydra_bstrap_proxy", "${0%/*}/hydra_pmi_proxy -c '" + ranks + "' & wait", ofDaemon, []kind{ofRank, ofDaemon}},
		"becomes another one": {"hydra_bstrap_proxy", "exec ${0%/*}/hydra_pmi_proxy -c '(read x <&3; exec cat <&3) & wait'", ofUnborn, []kind{ofRank}},
	} {
		t.Run(mpi, func(t *testing.T) {
			s, _ := linked(t, 1)
			var x *session
			for _, x = range s.sessions {
				x.line = true
			}
			dir := t.TempDir()
			shell, err := os.ReadFile("/bin/sh")
			require.NoError(t, err)
			for _, name := range []string{"prted", "hydra_bstrap_proxy", "hydra_pmi_proxy"} {
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), shell, 0o755))
			}
			first := filepath.Join(dir, c.first)
			cmd := exec.Command(first, "-c", c.script, first)
			cmd.Env = []string{"PATH=/bin:/usr/bin", names.EnvSession + "=" + x.id}
			ours, theirs, err := os.Pipe()
			require.NoError(t, err)
			cmd.ExtraFiles = []*os.File{ours}
			require.NoError(t, cmd.Start())
			require.NoError(t, ours.Close())
			t.Cleanup(func() {
				require.NoError(t, theirs.Close())
				require.NoError(t, cmd.Wait())
			})
			h := &hunter{o: s.observer, homes: map[being]*session{}, grown: map[being]bool{}, seen: map[being]time.Time{}}
			h.daemons = map[int]daemon{cmd.Process.Pid: {names.Comm(c.first), x}}
			kinds := func() (all []kind) {
				h.ranks()
				s.observer.mu.Lock()
				defer s.observer.mu.Unlock()
				for _, w := range s.observer.watched {
					all = append(all, w.kind)
				}
				slices.Sort(all)
				return all
			}
			require.Eventually(t, func() bool { return slices.Equal(kinds(), []kind{c.before}) }, 5*time.Second, time.Millisecond)
			_, err = theirs.WriteString("go\n")
			require.NoError(t, err)
			require.Eventually(t, func() bool { return slices.Equal(kinds(), c.after) }, 5*time.Second, time.Millisecond)
			require.True(t, h.settled())
			require.WithinDuration(t, time.Now().Add(huntAfter), h.until, huntAfter, "it ends soon after the last new rank")
		})
	}
}
