//go:build linux

package reap

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const tail = " 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 4711 9 9 9"

func TestParseStat(t *testing.T) {
	for _, c := range []struct {
		line string
		want Proc
		err  string
	}{
		{"7 (cat) S 1" + tail, Proc{PID: 7, PPID: 1, State: 'S', Threads: 3, Ticks: 11, Start: 4711, Comm: "cat"}, ""},
		{"7 (a) R 9) Z 0" + tail, Proc{PID: 7, PPID: 0, State: 'Z', Threads: 3, Ticks: 11, Start: 4711, Comm: "a) R 9"}, ""},
		{"7 () T 1" + tail + "\n", Proc{PID: 7, PPID: 1, State: 'T', Threads: 3, Ticks: 11, Start: 4711}, ""},
		{"7 (cat) R 1 7 7 0 -1 4194308 1 2 3 4 5 6 7 8 20 0 1 0 4711 9", Proc{PID: 7, PPID: 1, State: 'R', Threads: 1, Ticks: 11, Start: 4711, Comm: "cat", Exiting: true}, ""},
		{"7 (cat) Z 1 7 7 0 -1 4194308 1 2 3 4 5 6 7 8 20 0 2 0 4711 9", Proc{PID: 7, PPID: 1, State: 'Z', Threads: 2, Ticks: 11, Start: 4711, Comm: "cat"}, ""},
		{"2 (kthreadd) S 0 7 7 0 -1 2129984 1 2 3 4 5 6 7 8 20 0 1 0 4711 9", Proc{PID: 2, State: 'S', Threads: 1, Ticks: 11, Start: 4711, Comm: "kthreadd", kernel: true}, ""},
		{"7 (sh) R 1 7 7 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 4711" + strings.Repeat(" 0", 30), Proc{PID: 7, PPID: 1, State: 'R', Threads: 1, Ticks: 11, Start: 4711, Comm: "sh"}, ""},
		{"7 (sh) R 1 7 7 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 4711" + strings.Repeat(" 9", 30), Proc{PID: 7, PPID: 1, State: 'R', Threads: 1, Ticks: 11, Start: 4711, Comm: "sh", env: [2]uint64{9, 9}}, ""},
		{"7 (cat) S 1 7 7 0 -1 -2 1 2 3 4 5 6 7 8 20 0 1 0 4711 9", Proc{}, "invalid syntax"},
		{"", Proc{}, "no name"},
		{"7 )( S 1" + tail, Proc{}, "no name"},
		{"7 (cat) S 1", Proc{}, "too few fields"},
		{"x (cat) S 1" + tail, Proc{}, "invalid syntax"},
		{"7 (cat) S y" + tail, Proc{}, "invalid syntax"},
	} {
		got, err := parseStat([]byte(c.line))
		if c.err != "" {
			require.ErrorContains(t, err, c.err, c.line)
			continue
		}
		require.NoError(t, err, c.line)
		require.Equal(t, c.want, got)
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("7 (cat) S 1" + tail))
	f.Add([]byte("7 (a) R 9) Z 0" + tail))
	f.Fuzz(func(t *testing.T, line []byte) {
		if p, err := parseStat(line); err == nil {
			require.Contains(t, string(line), "("+p.Comm+")")
		}
	})
}

func TestLookup(t *testing.T) {
	for _, c := range []struct{ environ, want string }{
		{"", ""},
		{"M=1", "1"},
		{"M=1\x00", "1"},
		{"A=2\x00M=1\x00M=3\x00", "1"},
		{"XM=1\x00MX=2\x00", ""},
		{"M\x00", ""},
		{"M=\x00", ""},
		{"A=\nM=1\x00", ""},
		{"\x00\x00M=a=b\x00", "a=b"},
	} {
		require.Equal(t, c.want, lookup([]byte(c.environ), "M"), "%q", c.environ)
	}
}

func TestAlive(t *testing.T) {
	for state, alive := range map[byte]bool{'R': true, 'S': true, 'D': true, 'T': true, 't': true, 'Z': false, 'X': false} {
		require.Equal(t, alive, Proc{State: state, Threads: 1}.Alive(), string(state))
	}
	require.True(t, Proc{State: 'Z', Threads: 2}.Alive(), "only the first thread has ended")
}
