//go:build linux

package session

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/reap"
)

func TestZombieOf(t *testing.T) {
	for _, row := range []struct {
		script string
		want   reap.Status
	}{
		{"kill -9 $$", reap.Status{Code: 137, Signal: syscall.SIGKILL}},
		{"exit 7", reap.Status{Code: 7}},
		{"exit 0", reap.Status{}},
	} {
		t.Run(row.script, func(t *testing.T) {
			cmd := exec.Command("/bin/sh", "-c", row.script)
			in, err := cmd.StdinPipe()
			require.NoError(t, err)
			cmd.Args[2] = "read x; " + row.script
			require.NoError(t, cmd.Start())
			key := being{cmd.Process.Pid, startOf(t, cmd.Process.Pid)}
			_, ok := zombieOf(key)
			require.False(t, ok, "the process still runs")

			_, err = in.Write([]byte("go\n"))
			require.NoError(t, err)
			require.NoError(t, unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil))
			st, ok := zombieOf(key)
			require.True(t, ok)
			require.Equal(t, row.want, st)
			_, ok = zombieOf(being{key.pid, key.start + 1})
			require.False(t, ok, "another process with that pid")

			_ = cmd.Wait() // its exit code has been checked
			_, ok = zombieOf(key)
			require.False(t, ok, "the process is collected")
		})
	}
}

func startOf(t *testing.T, pid int) uint64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	require.NoError(t, err)
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	start, err := strconv.ParseUint(fields[statStart], 10, 64)
	require.NoError(t, err)
	return start
}

// TestRanksUnseen checks that ranks that ended before they were seen are counted.
func TestRanksUnseen(t *testing.T) {
	type seen struct {
		rank  string
		local int
	}
	for name, row := range map[string]struct {
		seen []seen
		lost []kind
		want int
	}{
		"all were seen":                       {[]seen{{"2", 2}, {"3", 2}, {"3", 0}}, nil, 0},
		"one was not seen":                    {[]seen{{"2", 2}}, nil, 1},
		"the end of one was not seen":         {[]seen{{"2", 1}}, []kind{ofRank}, 1},
		"a helper of the daemon was lost":     {[]seen{{"2", 1}}, []kind{ofUnborn}, 0},
		"none was seen, and a child was lost": {nil, []kind{ofUnborn, ofDaemon}, 1},
		"an MPI that does not set the number": {[]seen{{"2", 0}}, nil, 0},
		"without a number":                    {[]seen{{"", 2}}, nil, 0},
	} {
		var r ranksSeen
		for _, one := range row.seen {
			r.add(one.rank, one.local)
		}
		for _, k := range row.lost {
			r.lose(k)
		}
		require.Equal(t, row.want, r.unseen(), name)
	}
}

// TestASessionWithoutANumberedRank checks a daemon's child without a rank number. The child may
// have been a helper, so the rank itself has not been seen.
func TestASessionWithoutANumberedRank(t *testing.T) {
	for name, row := range map[string]struct {
		x    *session
		rank string
		want int
	}{
		"no rank":                  {&session{}, "", 0},
		"a child without a number": {&session{sight: sight{hasRanks: true}}, "", 1},
		"a rank":                   {&session{sight: sight{hasRanks: true}}, "2", 0},
	} {
		row.x.sight.ranks.add(row.rank, 0)
		require.Equal(t, row.want, row.x.sight.unseen(), name)
	}
}

// TestARankThatEndsInAStop checks a rank that failed just before its session was stopped. That may
// be the first failure, so the rank is not reported as a victim.
func TestARankThatEndsInAStop(t *testing.T) {
	for name, row := range map[string]struct {
		st   reap.Status
		want int
	}{
		"TERM of the stop": {reap.Status{Code: 143, Signal: syscall.SIGTERM}, 0},
		"killed":           {reap.Status{Code: 137, Signal: syscall.SIGKILL}, 0},
		"success":          {reap.Status{}, 0},
		"exit code":        {reap.Status{Code: 3}, 1},
		"crash":            {reap.Status{Code: 139, Signal: syscall.SIGSEGV}, 1},
	} {
		x, key := &session{}, being{1, 2}
		x.ours.Store(true)
		x.sight.ranks.add("2", 1)
		o := &observer{watched: map[being]*watched{key: {session: x, kind: ofRank, rank: "2"}}}
		o.endLocked(key, row.st)
		require.Equal(t, row.want, x.sight.unseen(), name)
	}
}
