//go:build mpi

package fake

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/test/suite/care"
)

// Mistakes get their exit code and a sentence that says what to do.
func TestBadInput(t *testing.T) {
	long := "/tmp/" + strings.Repeat("long/", 20)
	t.Parallel()
	for name, c := range map[string]struct {
		argv []string
		env  string
		code int
		said []string
	}{
		"unknown host": {[]string{"agent", "run", "--fake=2", "--", "agent", "rsh", "nohost", "true"}, "", 255,
			[]string{`agent: unknown host "nohost": the 2 known are 127.0.0.2, 127.0.0.3` + "\n"}},
		"unknown host in a hostfile": {[]string{"agent", "run", "--fake=2", "--", "mpirun.openmpi", "--host", "127.9.9.9", "true"}, "", 255,
			[]string{`agent: unknown host "127.9.9.9": the 2 known are 127.0.0.2, 127.0.0.3` + "\n"}},
		"no launcher": {[]string{"agent", "rsh", "127.0.0.2", "true"}, "", 255,
			[]string{"agent: rsh: no launcher is running here", "hint: "}},
		"no launcher, by the name of ssh": {[]string{"sh", "-c", `ln -s "$0" "$MUSTER_DIR/ssh" && exec "$MUSTER_DIR/ssh" -x host true`, "AGENT"}, "", 255,
			[]string{"agent: rsh: no launcher is running here"}},
		"no forwarding":      {[]string{"agent", "run", "--fake=2", "--", "agent", "rsh", "-L", "1:a:2", "127.0.0.3", "true"}, "", 255, []string{"agent: rsh: option -L asks for what a session does not serve"}},
		"not on the worker":  {[]string{"agent", "run", "--fake=2", "--", "agent", "rsh", "127.0.0.3", "nosuchcommand"}, "", 127, []string{"nosuchcommand", "worker 127.0.0.3"}},
		"not runnable there": {[]string{"agent", "run", "--fake=2", "--", "agent", "rsh", "127.0.0.3", "/etc/passwd"}, "", 126, []string{"/etc/passwd", "worker 127.0.0.3"}},
		"hosts on a worker": {[]string{"agent", "run", "--fake=2", "--framework=plain", "--", "agent", "hosts"}, "", 64,
			[]string{"agent: no launcher runs here: this is worker 127.0.0.", "hint: call it in the launcher"}},
		"env on a worker": {[]string{"agent", "run", "--fake=2", "--", "agent", "rsh", "127.0.0.3", "agent env"}, "", 64,
			[]string{"agent: no launcher runs here: this is worker 127.0.0.3\nhint: "}},
		"no fake worker": {[]string{"agent", "run", "--fake=0", "--", "true"}, "", 64, []string{"agent: --fake=0 starts no worker\nhint: --fake=2 starts two workers"}},
		"less than none": {[]string{"agent", "run", "--fake=-1", "--", "true"}, "", 64, []string{"agent: --fake=-1 starts no worker\n"}},
		"too many":       {[]string{"agent", "run", "--fake=1000", "--", "true"}, "", 64, []string{"agent: --fake=1000 is more than one machine carries\n", "hint: "}},
		"not a number":   {[]string{"agent", "run", "--fake=many", "--", "true"}, "", 64, []string{`"many"`, "--fake"}},
		"contradiction":  {[]string{"agent", "run", "--fake=2", "--workers=3", "--", "true"}, "", 64, []string{"contradict"}},
		"no slots":       {[]string{"agent", "run", "--fake=2", "--slots=0", "--", "true"}, "", 64, []string{"agent: --slots=0: a worker has at least one slot\n"}},
		"no command":     {[]string{"agent", "run", "--fake=2"}, "", 64, []string{"agent: no command given\nhint: "}},
		"empty command":  {[]string{"agent", "run", "--fake=2", "--", ""}, "", 64, []string{"agent: the command is an empty word\n"}},
		"unknown flag":   {[]string{"agent", "run", "--fak=2", "--", "true"}, "", 64, []string{"agent: unknown flag: --fak\nhint: "}},
		"unknown verb":   {[]string{"agent", "runn", "--fake=2"}, "", 64, []string{`agent: "runn" is no verb`, "did you mean agent run?"}},
		"bad variable":   {[]string{"agent", "run", "--", "true"}, "MUSTER_FAKE=x", 64, []string{`MUSTER_FAKE="x"`, "it counts as --fake"}},
		"bad selector":   {[]string{"agent", "run", "--workers=2", "--selector=a in (", "--", "true"}, "", 64, []string{`agent: --selector="a in (": `, "hint: a selector is written as"}},
		"no directory for the hostfile": {[]string{"agent", "run", "--fake=2", "--hostfile=/nosuch/hosts", "--", "true"}, "", 64,
			[]string{"agent: hostfile cannot be written: write /nosuch/hosts: no such file or directory\nhint: "}},
		"a hostfile nobody can write": {[]string{"agent", "run", "--fake=2", "--hostfile=/proc/hosts", "--", "true"}, "", 64,
			[]string{"agent: hostfile cannot be written: write /proc/hosts: "}},
		"a path too long for a socket": {[]string{"agent", "run", "--fake=2", "--", "true"}, "MUSTER_DIR=" + long, 64,
			[]string{"hint: set MUSTER_DIR to"}},
		"a fault without a cluster": {[]string{"agent", "run", "--workers=2", "--job=x", "--fake-fault", "drop every=1KiB", "--", "true"}, "", 64, []string{"--fake-fault needs --fake"}},
		"an unknown fault":          {[]string{"agent", "run", "--fake=2", "--fake-fault", "explode", "--", "true"}, "", 64, []string{"neither drop, stall, kill nor join\nhint: drop every="}},
		"half a fault":              {[]string{"agent", "run", "--fake=2", "--fake-fault", "kill worker=1", "--", "true"}, "", 64, []string{"kill takes after=TIME and worker=N"}},
		"a fault nowhere":           {[]string{"agent", "run", "--fake=2", "--fake-fault", "kill worker=2 after=1s", "--", "true"}, "", 64, []string{"there is no worker 2\nhint: workers are numbered 0 to 1"}},
		"a fault of no size":        {[]string{"agent", "run", "--fake=2", "--fake-fault", "drop every=lots", "--", "true"}, "", 64, []string{`"lots" is not a size such as 256KiB`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cl := call{argv: c.argv}
			for i, word := range cl.argv {
				if word == "AGENT" {
					cl.argv[i] = bin + "/agent"
				}
			}
			if c.env != "" {
				cl.env = []string{c.env}
			}
			o := run(t, cl)
			o.wants(t, c.code)
			for _, said := range c.said {
				require.Contains(t, o.err, said)
			}
			require.NotContains(t, o.err, "panic")
			require.Empty(t, o.out)
		})
	}
}

// MUSTER_DIR leaves no room for a socket's name, though it is there and ours.
func TestSocketPathTooLong(t *testing.T) {
	t.Parallel()
	dir := shortDir(t) + "/" + strings.Repeat("d", 90)
	require.NoError(t, os.Mkdir(dir, 0o700))
	c := call{argv: []string{"agent", "run", "--fake=2", "--", "true"}, env: []string{"MUSTER_DIR=" + dir}}
	o := run(t, c)
	o.wants(t, 64)
	require.Regexp(t, `agent: .*socket path .* has \d+ bytes, a unix socket takes 107 at most\nhint: set MUSTER_DIR to a shorter directory\n`, o.err)
}

// A directory in which the launcher's socket just fits and those of the fake
// workers, a few bytes longer, do not.
func TestSocketPathOfWorkersTooLong(t *testing.T) {
	t.Parallel()
	short := shortDir(t)
	dir := short + "/" + strings.Repeat("d", 107-len("/broker.sock")-len(short)-1)
	require.NoError(t, os.Mkdir(dir, 0o700))
	o := run(t, call{argv: []string{"agent", "run", "--fake=2", "--", "true"}, env: []string{"MUSTER_DIR=" + dir}})
	o.wants(t, 64)
	require.Contains(t, o.err, "a unix socket takes 107 at most")
	require.Contains(t, o.err, "hint: set MUSTER_DIR to a shorter directory\n")
}

// What the user has set counts, and both values are named.
func TestOwnVariableIsKept(t *testing.T) {
	every(t, func(t *testing.T, f family) {
		name, value := "OMPI_MCA_plm_rsh_num_concurrent", "7"
		if f.name == "mpich" {
			name, value = "HYDRA_IFACE", "lo:1" // never used: printenv is no MPI
		}
		c := agentRun(t, []string{"--fake=2"}, "printenv", name)
		c.env = []string{name + "=" + value}
		o := run(t, c)
		o.wants(t, 0)
		require.Equal(t, value+"\n", o.out)
		require.Regexp(t, `agent: `+name+`="`+value+`" is set and kept in place of "[^"]+": `, o.err)
	})
}

// mpirun typed by hand, beside a launcher that does nothing itself.
func TestTypedByHand(t *testing.T) {
	every(t, func(t *testing.T, f family) {
		j := start(t, agentRun(t, []string{"--fake=2", "--slots=2"}, "sh", "-c", "echo ready; exec sleep inf"))
		j.out.await(t, "ready\n")
		for range 2 { // and once more, over the same links
			o := run(t, call{argv: []string{"sh", "-c", `eval "$(agent env)" && exec "$@"`, "sh", f.mpirun, f.program("hello")}, env: []string{"MUSTER_DIR=" + j.dir}})
			o.wants(t, 0)
			require.Equal(t, slots(2, 2), perWorker(t, ranks(t, o.out)))
		}
		o := run(t, call{argv: []string{"agent", "hosts"}, env: []string{"MUSTER_DIR=" + j.dir}})
		require.Equal(t, "127.0.0.2 slots=2\n127.0.0.3 slots=2\n", o.out)
		j.signal(syscall.SIGTERM)
		last := j.wait()
		last.wants(t, 143)
		require.Equal(t, 4, last.report.Sessions)
	})
}

// ctrlC is what a terminal turns into SIGINT for its foreground processes.
const ctrlC = "\x03"

// apart is for two signals that do not count as one.
const apart = 300 * time.Millisecond

// terminal returns a terminal for a program, and what a person types and sees.
func terminal(t *testing.T) (theirs, keys *os.File) {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { keys.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	theirs, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { theirs.Close() })
	return theirs, keys
}

// TestCtrlCLetsRanksSave: a terminal sends its Ctrl-C to mpirun, too, which would end ranks
// and their loaders at once.
func TestCtrlCLetsRanksSave(t *testing.T) {
	t.Parallel()
	sources := t.TempDir()
	require.NoError(t, care.Lay(sources))
	for _, mpirun := range []string{"mpirun.openmpi", "mpiexec.mpich"} {
		t.Run(mpirun, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			theirs, keys := terminal(t)
			c := agentRun(t, []string{"--fake=2", "--grace=60s", "--chdir", dir}, mpirun, "-n", "2", "/usr/bin/python3", filepath.Join(sources, "loaders.py"), "fork")
			c.stdin = theirs
			j := start(t, c)
			for _, rank := range []string{"0", "1"} {
				require.Eventually(t, func() bool { return exists(dir, "up."+rank) }, patience, 10*time.Millisecond, "rank %s: %s", rank, j.err)
			}
			_, err := keys.WriteString(ctrlC)
			require.NoError(t, err)
			o := j.wait()
			o.wants(t, 130)
			require.Contains(t, o.err, "agent: 2 ranks ended by themselves")
			for _, rank := range []string{"0", "1"} {
				require.False(t, exists(dir, "asked."+rank), "a loader of rank %s was asked\n%s", rank, o.err)
				require.True(t, exists(dir, "saved."+rank), "rank %s has no checkpoint\n%s", rank, o.err)
			}
		})
	}
}

// TestCtrlCTwiceKills: whatever the ranks make of the first one.
func TestCtrlCTwiceKills(t *testing.T) {
	t.Parallel()
	for _, mpirun := range []string{"mpirun.openmpi", "mpiexec.mpich"} {
		t.Run(mpirun, func(t *testing.T) {
			t.Parallel()
			theirs, keys := terminal(t)
			c := agentRun(t, []string{"--fake=2", "--grace=10m"}, mpirun, "-n", "2", "bash", "-c", `trap "echo asked" TERM INT; echo up; while :; do sleep 0.1; done`)
			c.stdin = theirs
			j := start(t, c)
			for _, word := range []string{"up", "asked"} {
				require.Eventually(t, func() bool { return strings.Count(j.out.text(), word) >= 2 }, patience, 10*time.Millisecond, "%s: %s", word, j.err)
				time.Sleep(apart)
				_, err := keys.WriteString(ctrlC)
				require.NoError(t, err)
			}
			o := j.wait()
			o.wants(t, 130)
			require.Contains(t, o.err, "agent: SIGINT again: killing "+mpirun)
		})
	}
}

// TestMpirunReadsTheTerminal: it stays in the foreground.
func TestMpirunReadsTheTerminal(t *testing.T) {
	t.Parallel()
	for _, mpirun := range []string{"mpirun.openmpi", "mpiexec.mpich"} {
		t.Run(mpirun, func(t *testing.T) {
			t.Parallel()
			theirs, keys := terminal(t)
			c := agentRun(t, []string{"--fake=1"}, mpirun, "-n", "1", "cat")
			c.stdin = theirs
			j := start(t, c)
			_, err := keys.WriteString("a line\n\x04")
			require.NoError(t, err)
			o := j.wait()
			o.wants(t, 0)
			require.Contains(t, o.out, "a line")
		})
	}
}
