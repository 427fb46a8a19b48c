//go:build linux

package reap

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func pids(procs []Proc) []int {
	out := []int{}
	for _, p := range procs {
		out = append(out, p.PID)
	}
	return out
}

// table returns the process table of a worker: PID 1, an orted that became a daemon with two ranks,
// a rank with an emptied environment, and a second session. A user's shell and attach bridge, which
// the container runtime started, have parent 0.
func table() []Proc {
	return []Proc{
		{PID: 1, PPID: 0, State: 'S', Comm: "agent", Marker: "a"},
		{PID: 20, PPID: 1, State: 'S', Comm: "orted", Marker: "a"},
		{PID: 23, PPID: 20, State: 'R', Comm: "rank", Marker: "a"},
		{PID: 24, PPID: 20, State: 'R', Comm: "rank"},
		{PID: 25, PPID: 24, State: 'Z', Comm: "done"},
		{PID: 30, PPID: 1, State: 'S', Comm: "sh", Marker: "b"},
		{PID: 31, PPID: 30, State: 'S', Comm: "rank", Marker: "b"},
		{PID: 40, PPID: 0, State: 'S', Comm: "bash"},
		{PID: 41, PPID: 40, State: 'S', Comm: "top"},
		{PID: 50, PPID: 1, State: 'S', Comm: "stray"},
	}
}

// amongOf returns the processes of procs that a new Tree of session id would find.
func amongOf(procs []Proc, id string) []Proc {
	return NewTree(markEnv, id).among(procs)
}

func TestTree(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want []int
	}{
		{"marker and children", pids(amongOf(table(), "a")), []int{20, 23, 24, 25}},
		{"another session", pids(amongOf(table(), "b")), []int{30, 31}},
		{"unknown session", pids(amongOf(table(), "c")), []int{}},
		{"no session", pids(amongOf(table(), "")), []int{}},
		{"below PID 1", pids(Below(table(), 1)), []int{20, 23, 24, 25, 30, 31, 50}},
		{"below a shell", pids(Below(table(), 40)), []int{41}},
	} {
		require.Equal(t, c.want, c.got, c.name)
	}
}

// TestTreesOfRandomTables checks that the result of grow is closed, and that grow ends. A scan
// is no snapshot, so parents may be missing and chains may even be circular.
func TestTreesOfRandomTables(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	for range 300 {
		n := 2 + rnd.IntN(30)
		procs := make([]Proc, n)
		for i := range procs {
			procs[i] = Proc{PID: i + 2, PPID: rnd.IntN(n + 2), State: 'S', Marker: []string{"", "a", "b"}[rnd.IntN(3)]}
		}
		in := map[int]bool{}
		for _, p := range amongOf(procs, "a") {
			require.False(t, in[p.PID], "listed twice")
			in[p.PID] = true
		}
		for _, p := range procs {
			if p.PID != os.Getpid() {
				require.Equal(t, p.Marker == "a" || in[p.PPID], in[p.PID], "pid %d of %+v", p.PID, procs)
			}
		}
	}
}

func TestDaemonIsFoundByMarker(t *testing.T) {
	if !inside(t) {
		return
	}
	r := running(t)
	// After two forks and a setsid, only the marker identifies the daemon.
	p, out := sh(t, r, "s1", `(setsid sh -c 'echo $$; exec sleep 300' &) ; exit 0`, false)
	var daemon int
	_, err := fmt.Sscan(readLine(t, out), &daemon)
	require.NoError(t, err)
	require.Zero(t, p.Status().Code)
	waitFor(t, "the daemon under PID 1", func() bool {
		found, err := finder("s1")()
		require.NoError(t, err)
		return len(found) == 1 && found[0].PID == daemon && found[0].PPID == 1 && found[0].Comm == "sleep"
	})
	report, err := r.Stop(t.Context(), finder("s1"), time.Minute)
	require.NoError(t, err)
	require.Equal(t, 1, report.Found)
	require.Equal(t, 1, report.Asked)
	require.Zero(t, report.Killed)
	empty(t, 1)
}

// TestEmptiedEnvironment checks that a process without the marker belongs to its session while its parent
// runs. Afterwards a Tree remembers it, and Below finds it even without an earlier scan.
func TestEmptiedEnvironment(t *testing.T) {
	if !inside(t) {
		return
	}
	r := running(t)
	for _, look := range []bool{true, false} {
		tree := NewTree(markEnv, "s1")
		p, out := sh(t, r, "s1", `env -i /usr/bin/setsid /bin/sh -c 'echo $$; exec sleep 300' & wait`, false)
		var bare int
		_, err := fmt.Sscan(readLine(t, out), &bare)
		require.NoError(t, err)
		if look {
			found, err := tree.Find()
			require.NoError(t, err)
			require.ElementsMatch(t, []int{p.PID(), bare}, pids(found))
		}
		require.NoError(t, p.Signal(9))
		require.Equal(t, 137, p.Status().Code)
		byMarker, err := finder("s1")()
		require.NoError(t, err)
		require.Empty(t, byMarker)
		found, err := tree.Find()
		require.NoError(t, err)
		below := func() ([]Proc, error) {
			procs, err := Scan(markEnv)
			return Below(procs, 1), err
		}
		if look {
			require.Equal(t, []int{bare}, pids(found))
			report, err := r.Stop(t.Context(), tree.Find, time.Minute)
			require.NoError(t, err)
			require.Equal(t, 1, report.Asked)
		} else {
			require.Empty(t, found)
			report, err := r.Stop(t.Context(), below, time.Minute)
			require.NoError(t, err)
			require.Equal(t, 1, report.Asked)
		}
		empty(t, 1)
	}
}

// TestAddedBeforeEnvironmentIsReadable checks that a process is found before its new environment
// can be read.
func TestAddedBeforeEnvironmentIsReadable(t *testing.T) {
	r := running(t)
	for range 20 {
		tree := NewTree(markEnv, "no process has this marker")
		p, err := r.Start(Spec{Path: "/bin/sleep", Argv: []string{"sleep", "300"}})
		require.NoError(t, err)
		tree.Add(p)
		found, err := tree.Find()
		require.NoError(t, err)
		require.Equal(t, []int{p.PID()}, pids(found))
		require.NoError(t, p.Signal(9))
		<-p.Done()
		tree.Add(p) // too late: another process may have its pid by now
		found, err = tree.Find()
		require.NoError(t, err)
		require.Empty(t, found)
	}
}

// empty requires that no process below root is alive, except processes that are exiting.
func empty(t *testing.T, root int) {
	t.Helper()
	procs, err := Scan(markEnv)
	require.NoError(t, err)
	for _, p := range Below(procs, root) {
		require.False(t, p.Alive() && !p.Exiting, "%+v", p)
	}
}

// TestTreeRemembersNumbers checks that a process that has overwritten its environment keeps the
// numbers from its first scan.
func TestTreeRemembersNumbers(t *testing.T) {
	tree := NewTree(markEnv, "s1")
	one, two := Proc{PID: 5, Start: 1, Numbers: numbersIn([]byte("A=1\x00RANK=3\x00RANK=4\x00"))}, Proc{PID: 6, Start: 1}
	tree.first = two.identity()
	tree.remember([]Proc{one, two})
	found := []Proc{{PID: 5, Start: 1}, {PID: 5, Start: 2}, {PID: 6, Start: 1}}
	tree.remember(found)
	require.Equal(t, "3", found[0].Numbers[0])
	require.False(t, found[1].Numbers.some(), "another process with the same pid")
	require.Equal(t, []bool{false, false, true}, []bool{found[0].First, found[1].First, found[2].First})
}
