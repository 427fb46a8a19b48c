//go:build linux

package local_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/local"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/test/contract"
)

// reports collects a worker's reports.
type reports struct {
	mu  sync.Mutex
	all []wire.ReportRecord
}

func (r *reports) take(rec wire.ReportRecord) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, rec)
}

func (r *reports) of(kind string) []wire.ReportRecord {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []wire.ReportRecord
	for _, rec := range r.all {
		if rec.Kind == kind {
			found = append(found, rec)
		}
	}
	return found
}

func (r *reports) await(t *testing.T, kind string) wire.ReportRecord {
	t.Helper()
	require.Eventually(t, func() bool { return len(r.of(kind)) > 0 }, time.Minute, 10*time.Millisecond, "no report of kind %s", kind)
	return r.of(kind)[0]
}

// number waits for a first line and returns the number in it.
func number(t *testing.T, out *contract.Text) int {
	t.Helper()
	var pid int
	require.Eventually(t, func() bool {
		line, _, found := strings.Cut(out.String(), "\n")
		pid, _ = strconv.Atoi(line)
		return found
	}, time.Minute, 10*time.Millisecond)
	return pid
}

// daemon starts a session as mpirun does, by a line that becomes an MPI daemon. The daemon is a shell
// that runs the script.
func daemon(t *testing.T, change func(*link.Config), script string) (*link.Link, *link.Session, *reports, *contract.Text) {
	t.Helper()
	path, err := exec.LookPath("dash")
	if err != nil {
		path, err = exec.LookPath("sh")
	}
	require.NoError(t, err)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	orted := filepath.Join(t.TempDir(), "orted")
	require.NoError(t, os.WriteFile(orted, text, 0o755))
	w := contract.NewWorker(t, nil)
	told, out := &reports{}, &contract.Text{}
	l := contract.NewLink(t, local.Dialer{Path: w.Socket}, func(c *link.Config) {
		c.OnReport = told.take
		c.Hello.FrozenMillis = 300
		if change != nil {
			change(c)
		}
	})
	s, err := l.Open(t.Context(), "", wire.Spec{Line: "exec " + orted + ` -c "$SCRIPT"`, Env: []string{"SCRIPT=" + script}}, link.Streams{Stdout: out})
	require.NoError(t, err)
	return l, s, told, out
}

func TestFrozenDaemonIsReported(t *testing.T) {
	_, s, told, out := daemon(t, nil, `sleep 1000 & echo $$; wait`)
	pid := number(t, out)
	told.await(t, wire.ReportRanks)
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	rec := told.await(t, wire.ReportFrozen)
	require.Equal(t, s.ID(), rec.Session)
	require.Equal(t, pid, rec.PID)
	require.Equal(t, "orted", rec.Command)
	require.GreaterOrEqual(t, rec.Millis, int64(300))
	s.Stop(time.Second)
	_, err := s.Wait(t.Context())
	require.NoError(t, err)
	require.Empty(t, told.of(wire.ReportDaemon), "the end of a daemon that we stopped is not reported")
}

// TestFrozenRankIsNotReported checks that a stopped rank is not reported, because a user with a
// debugger may have stopped it, or the rank itself.
func TestFrozenRankIsNotReported(t *testing.T) {
	_, s, told, out := daemon(t, nil, `echo $$; sh -c 'echo $$; exec sleep 1000' & wait`)
	pid := number(t, out)
	var rank int
	require.Eventually(t, func() bool {
		n, _ := fmt.Sscan(out.String(), new(int), &rank)
		return n == 2 && strings.HasSuffix(out.String(), "\n")
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, syscall.Kill(rank, syscall.SIGSTOP))
	told.await(t, wire.ReportRanks)
	// The rank has been stopped for longer than its daemon, which is reported.
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	require.Equal(t, pid, told.await(t, wire.ReportFrozen).PID)
	s.Stop(time.Second)
	_, err := s.Wait(t.Context())
	require.NoError(t, err)
	require.Len(t, told.of(wire.ReportFrozen), 1)
}

// TestKilledDaemonIsReported checks a daemon that has left its session's first process, and is
// therefore a child of PID 1.
func TestKilledDaemonIsReported(t *testing.T) {
	_, s, told, out := daemon(t, nil, `( sleep 1000 & echo $(cut -d' ' -f4 /proc/self/stat); wait ) >&1 &`)
	_ = number(t, out)
	told.await(t, wire.ReportRanks)
	var pid int
	require.Eventually(t, func() bool { // find the pid of the child shell, which does not know it
		list, _ := exec.Command("pgrep", "-x", "orted").Output()
		for word := range strings.FieldsSeq(string(list)) {
			n, _ := strconv.Atoi(word)
			env, _ := os.ReadFile("/proc/" + word + "/environ")
			if bytes.Contains(env, []byte("MUSTER_SESSION="+s.ID()+"\x00")) {
				pid = n
			}
		}
		return pid != 0
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	rec := told.await(t, wire.ReportDaemon)
	require.Equal(t, int(syscall.SIGKILL), rec.Signal)
	require.Equal(t, 137, rec.Code)
	s.Stop(time.Second)
	_, err := s.Wait(t.Context())
	require.NoError(t, err)
}

func newCutWay() *wayState { return &wayState{open: map[*cutConn]bool{}} }

// cut ends every open connection.
func (w *wayState) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.open {
		c.Conn.Close()
	}
}

// refuse makes new connections fail for d.
func (w *wayState) refuse(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refused = time.Now().Add(d)
}

// kernelReportsEnds reports whether the kernel shows how a process ended that another process
// collects, as since Linux 6.15.
func kernelReportsEnds(t *testing.T) bool {
	var uts unix.Utsname
	require.NoError(t, unix.Uname(&uts))
	var major, minor int
	_, err := fmt.Sscanf(unix.ByteSliceToString(uts.Release[:]), "%d.%d", &major, &minor)
	require.NoError(t, err)
	return major > 6 || major == 6 && minor >= 15
}

// TestFailedRankIsReported checks that the end of a rank is reported if the kernel shows it.
func TestFailedRankIsReported(t *testing.T) {
	_, s, told, out := daemon(t, nil, `PMI_RANK=5 sh -c 'sleep 5; exit 7'; echo $$; sleep 1000`)
	told.await(t, wire.ReportRanks)
	if !kernelReportsEnds(t) {
		// After the rank's end, the worker looks at the session until it reports the frozen daemon.
		require.NoError(t, syscall.Kill(number(t, out), syscall.SIGSTOP))
		told.await(t, wire.ReportFrozen)
		require.Empty(t, told.of(wire.ReportRank))
	} else {
		rec := told.await(t, wire.ReportRank)
		require.Equal(t, 7, rec.Code)
		require.Equal(t, "5", rec.Rank)
		require.False(t, rec.MPI)
	}
	s.Stop(time.Second)
	_, err := s.Wait(t.Context())
	require.NoError(t, err)
}

// TestFirstSuccessfulRankIsReported checks that only the first of a session's ranks that exits with
// 0 is reported.
func TestFirstSuccessfulRankIsReported(t *testing.T) {
	if !kernelReportsEnds(t) {
		t.Skip("needs Linux 6.15 or later")
	}
	_, s, told, _ := daemon(t, nil, `for rank in 3 4; do PMI_RANK=$rank sh -c "sleep 4.\$PMI_RANK" & done; sh -c 'sleep 3'; wait; PMI_RANK=5 sh -c 'sleep 3; exit 7'; sleep 1000`)
	rec := told.await(t, wire.ReportDone)
	require.Equal(t, "3", rec.Rank)
	require.Equal(t, "5", told.await(t, wire.ReportRank).Rank)
	require.Len(t, told.of(wire.ReportDone), 1)
	s.Stop(time.Second)
	_, err := s.Wait(t.Context())
	require.NoError(t, err)
}

// TestReportsOutlastConnections checks that reports wait for a launcher that redials, and are
// passed on once.
func TestReportsOutlastConnections(t *testing.T) {
	way := newCutWay()
	l, s, told, out := daemon(t, func(c *link.Config) {
		c.Dialer = cutting{c.Dialer, way}
	}, `sleep 1000 & echo $$; wait`)
	pid := number(t, out)
	told.await(t, wire.ReportRanks)
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	told.await(t, wire.ReportFrozen)
	way.cut()
	require.Eventually(t, func() bool { return l.State().Redials > 0 && l.Prove(t.Context()) }, time.Minute, 10*time.Millisecond)
	s.Stop(time.Second)
	_, err := s.Wait(t.Context())
	require.NoError(t, err)
	require.Len(t, told.of(wire.ReportFrozen), 1)
}

// TestFrozenDaemonWithoutLauncher checks that PID 1 ends a frozen daemon itself if no launcher is
// connected to decide.
func TestFrozenDaemonWithoutLauncher(t *testing.T) {
	way := newCutWay()
	_, s, told, out := daemon(t, func(c *link.Config) {
		c.Dialer = cutting{c.Dialer, way}
	}, `sleep 1000 & echo $$; wait`)
	pid := number(t, out)
	told.await(t, wire.ReportRanks)
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	way.refuse(3 * time.Second) // longer than it takes until the daemon counts as frozen
	way.cut()
	require.Eventually(t, func() bool { return syscall.Kill(pid, 0) != nil }, time.Minute, 10*time.Millisecond, "the frozen daemon still runs")
	rec := told.await(t, wire.ReportFrozen)
	require.Equal(t, pid, rec.PID)
	_, err := s.Wait(t.Context())
	require.NoError(t, err)
}
