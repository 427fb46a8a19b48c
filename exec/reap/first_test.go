//go:build linux

package reap

import (
	"bytes"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFirst: a stop asks ranks before their launchers and helpers, and does not ask a
// program that would just die before one that has something to save.
func TestFirst(t *testing.T) {
	type row struct {
		pid, ppid int
		comm      string
		rank      string
		minds     bool
	}
	for name, c := range map[string]struct {
		rows []row
		want []int
	}{
		"nobody":                  {nil, []int{}},
		"one":                     {[]row{{2, 1, "a", "", false}}, []int{2}},
		"a rank and its loaders":  {[]row{{2, 1, "python", "0", true}, {3, 2, "python", "0", true}, {4, 2, "python", "0", true}}, []int{2}},
		"loaders without numbers": {[]row{{2, 1, "python", "0", true}, {3, 2, "python", "", true}}, []int{2}},
		"a rank without a handler, and processes that have one": {[]row{{2, 1, "python", "0", false}, {3, 2, "python", "0", true}}, []int{3}},
		"nobody has a handler":                     {[]row{{2, 1, "python", "0", false}, {3, 2, "python", "0", false}}, []int{2, 3}},
		"torchrun":                                 {[]row{{2, 1, "torchrun", "", true}, {3, 2, "python", "0", true}, {4, 2, "python", "1", false}, {5, 4, "python", "1", false}}, []int{3, 4, 5}},
		"torchrun that has a number of its own":    {[]row{{2, 1, "torchrun", "0", true}, {3, 2, "python", "00", true}, {4, 2, "python", "01", true}}, []int{3, 4}},
		"torchrun that has the number of one":      {[]row{{2, 1, "python", "0", true}, {3, 2, "python", "0", true}, {4, 2, "python", "1", true}}, []int{3, 4}},
		"torchrun that has the number of all":      {[]row{{2, 1, "torchrun", "0", true}, {3, 2, "python", "0", true}}, []int{3}},
		"torchrun behind a shell, with a logger":   {[]row{{2, 1, "sh", "", false}, {3, 2, "torchrun", "", true}, {4, 3, "python", "0", true}, {5, 2, "tee", "", false}}, []int{4}},
		"orted, a daemon":                          {[]row{{2, 1, "orted", "", true}, {3, 2, "a", "0", false}, {4, 2, "a", "1", true}}, []int{3, 4}},
		"orted without ranks":                      {[]row{{2, 1, "orted", "", true}}, []int{2}},
		"a shell as a rank, with a pipe":           {[]row{{2, 1, "sh", "0", false}, {3, 2, "python", "0", true}, {4, 2, "tee", "0", false}}, []int{3}},
		"a shell with a handler, and a program":    {[]row{{2, 1, "bash", "0", true}, {3, 2, "python", "0", true}, {4, 2, "tee", "0", false}}, []int{2, 3}},
		"a shell with a handler waits for sleep":   {[]row{{2, 1, "bash", "0", true}, {3, 2, "sleep", "0", false}}, []int{2, 3}},
		"the same without a number":                {[]row{{2, 1, "bash", "", true}, {3, 2, "sleep", "", false}}, []int{2, 3}},
		"timeout, which would ask the loader, too": {[]row{{2, 1, "timeout", "0", true}, {3, 2, "python", "0", true}, {4, 3, "python", "0", true}}, []int{3}},
		"an unknown launcher":                      {[]row{{2, 1, "launch", "", true}, {3, 2, "worker", "", true}, {4, 2, "worker", "", false}}, []int{3}},
		"an unknown launcher that is a shell":      {[]row{{2, 1, "sh", "", true}, {3, 2, "sh", "", true}}, []int{3}},
		"two sessions, one of which has handlers":  {[]row{{2, 1, "a", "0", false}, {3, 1, "b", "1", true}, {4, 3, "c", "1", true}}, []int{2, 3}},
		"a helper whose rank has ended":            {[]row{{2, 1, "a", "0", true}, {3, 1, "b", "1", false}}, []int{2, 3}},
		"a scan that makes a circle of parents":    {[]row{{2, 3, "a", "0", true}, {3, 2, "b", "1", false}, {4, 1, "c", "", false}}, []int{4}},
	} {
		t.Run(name, func(t *testing.T) {
			var procs []Proc
			ranks, minding := map[int]string{}, map[int]bool{}
			for _, r := range c.rows {
				procs = append(procs, Proc{PID: r.pid, PPID: r.ppid, State: 'S', Comm: r.comm})
				ranks[r.pid], minding[r.pid] = r.rank, r.minds
			}
			got := first(procs, func(p Proc) string { return ranks[p.PID] }, func(p Proc) bool { return minding[p.PID] })
			require.Equal(t, c.want, pids(got))
		})
	}
}

func TestMinds(t *testing.T) {
	var buf bytes.Buffer
	self := Proc{PID: os.Getpid()}
	taken := make(chan os.Signal, 1)
	signal.Notify(taken, syscall.SIGWINCH)
	defer signal.Stop(taken)
	require.True(t, minds(self, syscall.SIGWINCH, &buf))
	require.False(t, minds(self, syscall.SIGSTOP, &buf))
	require.False(t, minds(Proc{PID: 1 << 30}, syscall.SIGTERM, &buf))
}
