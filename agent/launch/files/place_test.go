//go:build linux

package files

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/plan"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/rundir"
	"github.com/musterhq/muster/rendezvous"
)

// privateDir returns a MUSTER_DIR with a path short enough for sockets.
func privateDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "muster")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Setenv(names.EnvDir, dir)
	return dir
}

func TestFindPlace(t *testing.T) {
	base := privateDir(t)
	stale := filepath.Join(base, "fake-1")
	busy := filepath.Join(base, "fake-2")
	require.NoError(t, os.MkdirAll(filepath.Join(stale, "w0"), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(busy, "w0"), 0o700))
	young := filepath.Join(base, "fake-3")
	require.NoError(t, os.Mkdir(young, 0o700))
	l, err := net.Listen("unix", filepath.Join(busy, "w0", names.WorkerSocket))
	require.NoError(t, err)
	defer l.Close()
	for _, dir := range []string{stale, busy} {
		require.NoError(t, os.Chtimes(dir, time.Time{}, time.Now().Add(-2*tidyAfter)))
	}

	fake := config.Config{Rehearsal: config.Rehearsal{Fake: 1, FakeGiven: true}}
	first, err := Find(fake, Beside{})
	require.NoError(t, err)
	require.Equal(t, filepath.Join(base, names.BrokerSocket), first.Socket)
	require.NoDirExists(t, stale, "the directory of a killed run is removed")
	require.DirExists(t, busy, "the directory of a live run is kept")
	require.DirExists(t, young, "a run may be about to open its socket here")
	require.NoError(t, first.Note(plan.Plan{Job: "first"}))

	second, err := Find(fake, Beside{})
	require.NoError(t, err, "two fake runs can run at once")
	require.Equal(t, filepath.Join(second.Dir, names.BrokerSocket), second.Socket)
	require.NotEqual(t, first.Dir, second.Dir)

	require.NoError(t, second.Note(plan.Plan{Job: "second"}))

	_, err = Find(config.Config{}, Pods{})
	require.ErrorContains(t, err, "another process listens on it")
	require.Equal(t, names.ExitUsage, failure.CodeOf(err))
	for _, p := range []Place{first, second} {
		planned, err := LoadPlan(p.Socket)
		require.NoError(t, err, "each run has its plan, and a refused run removes none")
		require.Equal(t, p.Dir == first.Dir, planned.Job == "first")
	}

	second.Close()
	first.Close()
	require.NoDirExists(t, first.Dir)
	require.NoDirExists(t, second.Dir)
	left, err := os.ReadDir(base)
	require.NoError(t, err)
	require.Len(t, left, 2, "only the busy directory and the young directory are left")
}

func TestFindPlaceWithoutRoomForSockets(t *testing.T) {
	base := privateDir(t)
	deep := filepath.Join(base, strings.Repeat("d", rundir.MaxSocketPath-len(base)-len("/broker.sock")-1))
	t.Setenv(names.EnvDir, deep)
	_, err := Find(config.Config{Rehearsal: config.Rehearsal{Fake: 2, FakeGiven: true}}, Beside{})
	require.ErrorContains(t, err, "bytes, at most 107")
	require.Equal(t, names.ExitUsage, failure.CodeOf(err))
	left, err := os.ReadDir(deep)
	require.NoError(t, err)
	require.Empty(t, left)
	p, err := Find(config.Config{}, Pods{})
	require.NoError(t, err, "the path is short enough for the broker's socket")
	p.Close()
}

func TestChoosePaths(t *testing.T) {
	dir, mpi := t.TempDir(), filepath.Join(t.TempDir(), "mpi")
	p, err := Choose(config.Config{Pod: config.Pod{MPIDir: mpi}}, Pods{}, dir, false)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "hostfile"), p.Hostfile, "outside of a pod, nothing is created in /etc")
	require.NoDirExists(t, mpi)
	p, err = Choose(config.Config{Pod: config.Pod{MPIDir: t.TempDir()}}, Pods{}, dir, false)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "hostfile"), p.Hostfile, "outside of a pod, an existing directory is not used either")
	require.Empty(t, p.legacy)

	p, err = Choose(config.Config{Pod: config.Pod{MPIDir: mpi}}, Pods{}, dir, true)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(mpi, "hostfile"), p.Hostfile)
	require.NoError(t, p.Write([]plan.Host{{Host: "10.0.0.1", Slots: 2}}, "/muster/agent"))
	require.NoError(t, p.Write([]plan.Host{{Host: "10.0.0.1", Slots: 3}}, "/muster/agent"), "a second write replaces the files")
	for name, want := range map[string]string{
		"hostfile": "10.0.0.1 slots=3\n", "hostfile.hydra": "10.0.0.1:3\n",
		"discover_hosts.sh": "#!/bin/sh\nexec /muster/agent hosts --format horovod\n",
	} {
		text, err := os.ReadFile(filepath.Join(mpi, name))
		require.NoError(t, err)
		require.Equal(t, want, string(text))
	}
	target, err := os.Readlink(filepath.Join(mpi, "kubexec.sh"))
	require.NoError(t, err)
	require.Equal(t, "/muster/agent", target)

	p, err = Choose(config.Config{Pod: config.Pod{MPIDir: mpi}, Rehearsal: config.Rehearsal{Fake: 1}}, Beside{}, dir, true)
	require.NoError(t, err)
	require.Empty(t, p.legacy)
	require.Equal(t, filepath.Join(dir, "hostfile"), p.Hostfile, "a fake run does not write to /etc")

	p, err = Choose(config.Config{Pod: config.Pod{MPIDir: mpi}, Launching: config.Launching{Hostfile: filepath.Join(dir, "mine")}}, Pods{}, dir, true)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "mine"), p.Hostfile)
	_, err = Choose(config.Config{Pod: config.Pod{MPIDir: mpi}, Launching: config.Launching{Hostfile: "/proc/x/hosts"}}, Pods{}, dir, true)
	require.ErrorContains(t, err, "hostfile cannot be written")
}

func TestPlanEnvironment(t *testing.T) {
	t.Setenv("HOME", "")
	t.Setenv("TMPDIR", "")
	dir := t.TempDir()
	planned, err := (Paths{ground: Beside{}}).Plan(plan.Situation{
		Config: config.Config{Rehearsal: config.Rehearsal{Fake: 2, FakeGiven: true}, Selection: config.Selection{Slots: 2}},
		Ranked: []rendezvous.Worker{{Name: "a", IP: "127.0.0.2"}, {Name: "b", IP: "127.0.0.3"}},
		Files:  plan.Files{Hostfile: "/r/hostfile", Hydra: "/r/hydra", Rsh: "/r/rsh"}, Dir: dir, Broker: "/r/broker.sock", Agent: "/bin/agent",
	})
	require.NoError(t, err)
	env, warnings := planned.Merge([]string{"HOME=", "A=b", "HYDRA_LAUNCHER=ssh", "MUSTER_BROKER=/old"})
	require.Contains(t, env, "OMPI_MCA_plm_rsh_agent=/bin/agent rsh")
	require.Contains(t, env, "PRTE_MCA_plm_ssh_agent=/bin/agent rsh")
	require.Contains(t, env, "HYDRA_LAUNCHER_EXEC=/r/rsh")
	require.Contains(t, env, "HOME="+dir)
	require.Contains(t, env, "TMPDIR="+dir+"/tmp", "fake runs share no files in /tmp")
	require.DirExists(t, dir+"/tmp")
	require.NotContains(t, env, "HOME=", "getenv returns the first value, so an empty HOME must be removed")
	require.Contains(t, env, "HYDRA_LAUNCHER=ssh", "the user's value is kept")
	require.NotContains(t, env, "HYDRA_LAUNCHER=rsh")
	require.Contains(t, strings.Join(warnings, "\n"), "HYDRA_LAUNCHER")
	require.Contains(t, env, "MUSTER_BROKER=/r/broker.sock", "the broker of an outer launcher is replaced")
}

// TestPlaceWithoutDescriptors checks that a shortage of file descriptors does not mean that another
// agent runs, nor that a run is dead.
func TestPlaceWithoutDescriptors(t *testing.T) {
	base := privateDir(t)
	for _, c := range []struct {
		err  error
		want string
	}{
		{syscall.EMFILE, "raise the limit of open files: ulimit -n 65536"},
		{syscall.EACCES, "another agent run may be running here; MUSTER_DIR sets another directory for this one"},
		{&rundir.PathTooLongError{}, "set MUSTER_DIR to a directory with a shorter path"},
	} {
		var f *failure.Failure
		require.ErrorAs(t, socketFailure(c.err), &f)
		require.Equal(t, c.want, f.Hint())
	}
	full := filepath.Join(base, "full")
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer syscall.Close(fd)
	require.NoError(t, syscall.Bind(fd, &syscall.SockaddrUnix{Name: full}))
	require.False(t, answers(full), "a bound socket without a listener")
	require.NoError(t, syscall.Listen(fd, 0))
	for range 2 {
		require.True(t, answers(full), "a listener with a full queue is alive")
	}
	require.False(t, answers(filepath.Join(base, "none")))
}
