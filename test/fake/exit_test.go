//go:build mpi

package fake

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/wire"
)

func TestExitCodes(t *testing.T) {
	openmpi, mpich := families[0].program("act"), families[1].program("act")
	t.Parallel()
	for name, c := range map[string]struct {
		argv  []string
		codes []int
		said  string // part of stdout or stderr
	}{
		"Open MPI, a rank exits":     {[]string{"mpirun.openmpi", openmpi, "exit", "7", "3"}, []int{7}, "mpirun.openmpi exited with 7\n"},
		"Open MPI, a rank ends":      {[]string{"mpirun.openmpi", openmpi, "final", "7", "3"}, []int{7}, "mpirun.openmpi exited with 7\n"},
		"Open MPI, a rank aborts":    {[]string{"mpirun.openmpi", openmpi, "abort", "7", "3"}, []int{7}, "mpirun.openmpi exited with 7\n"},
		"Open MPI, a rank killed":    {[]string{"mpirun.openmpi", openmpi, "kill", "9", "3"}, []int{137}, "on node 127.0.0.3 exited on signal 9"},
		"Open MPI, the daemon fails": {[]string{"mpirun.openmpi", "-mca", "orte_launch_agent", "nosuchorted", openmpi, "final", "0", "0"}, []int{1, 127}, "nosuchorted"},
		// A rank of MPICH's that leaves without MPI_Finalize is in test/conform.
		// What its ranks say last may be lost, also over ssh: 3 of 60 aborts were
		// silent on a busy machine. The code never was.
		"MPICH, a rank ends":   {[]string{"mpiexec.mpich", mpich, "final", "7", "3"}, []int{7}, "mpiexec.mpich exited with 7\n"},
		"MPICH, a rank aborts": {[]string{"mpiexec.mpich", mpich, "abort", "7", "3"}, []int{7}, "mpiexec.mpich exited with 7\n"},
		// Its proxies race for the first word: the signal, or their own failure.
		"MPICH, a rank killed": {[]string{"mpiexec.mpich", mpich, "kill", "9", "3"}, []int{9, 137, 255}, "BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES"},
		"no such mpirun":       {[]string{"mpirun.nosuch", openmpi}, []int{127}, "agent: mpirun.nosuch: command not found\n"},
		"no such program":      {[]string{"mpirun.openmpi", "/nosuch/program"}, []int{132, 134}, "Executable: /nosuch/program"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := run(t, agentRun(t, []string{"--fake=2", "--slots=2"}, c.argv...))
			require.Contains(t, c.codes, o.code, "exit code\nstdout: %s\nstderr: %s", tail(o.out), tail(o.err))
			require.Contains(t, o.out+o.err, c.said)
			require.NotRegexp(t, `mpi(run|exec)\S* was killed by SIG`, o.err, "mpirun itself was not")
			require.Empty(t, o.report.Lost)
		})
	}
}

// mpirun says 0 after it ran everything in the launcher: a hostfile that it
// overlooks, or a host that is not one of ours.
func TestZeroThatWasNotEarned(t *testing.T) {
	openmpi, mpich := families[0].program("hello"), families[1].program("hello")
	const sentence = " said 0, but it started nothing on any of the 2 workers: everything ran in the launcher\n"
	t.Parallel()
	for name, c := range map[string]struct {
		env  string
		exit string
		argv []string
		code int
	}{
		"Open MPI, a host of the launcher":  {"", "", []string{"mpirun.openmpi", "--host", "127.0.0.1:2", openmpi}, 76},
		"Open MPI, localhost":               {"", "strict", []string{"mpirun.openmpi", "--host", "localhost:2", openmpi}, 76},
		"Open MPI, an empty hostfile":       {"OMPI_MCA_orte_default_hostfile=/dev/null", "", []string{"mpirun.openmpi", "-np", "2", openmpi}, 76},
		"MPICH, a host of the launcher":     {"", "", []string{"mpiexec.mpich", "-hosts", "127.0.0.1", mpich}, 76},
		"MPICH, accepted":                   {"", "command", []string{"mpiexec.mpich", "-hosts", "127.0.0.1", mpich}, 0},
		"not MPI":                           {"", "", []string{"true"}, 0},
		"not MPI, strict":                   {"", "strict", []string{"true"}, 76},
		"not MPI, its own code comes first": {"", "strict", []string{"sh", "-c", "exit 3"}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := agentRun(t, []string{"--fake=2", "--exit=" + c.exit}, c.argv...)
			if c.exit == "" {
				call.argv = slices.DeleteFunc(call.argv, func(word string) bool { return word == "--exit=" })
			}
			if c.env != "" {
				call.env = []string{c.env}
			}
			o := run(t, call)
			o.wants(t, c.code)
			require.Equal(t, 0, o.report.Sessions)
			require.Equal(t, c.code == 76, strings.Contains(o.err, "agent: "+c.argv[0]+sentence), o.err)
		})
	}
}

// Nobody stops the workers of a launcher that was killed, but the lease.
func TestLauncherKilled(t *testing.T) {
	every(t, func(t *testing.T, f family) {
		j := start(t, agentRun(t, []string{"--fake=2", "--lease=2s"}, f.mpirun, f.program("act"), "wait"))
		j.out.await(t, "ready\n")
		ofSession := func(p process) bool { return p.onWorker() && !strings.Contains(p.Line(), " worker --await") }
		before := 0
		for _, p := range remains(j.mark) {
			if ofSession(p) {
				before++
			}
		}
		require.GreaterOrEqual(t, before, 4, "two daemons, two ranks")
		j.signal(syscall.SIGKILL)
		took := gone(t, j.mark, patience, ofSession)
		t.Logf("ranks gone %.1f s after kill -9 of the launcher, lease 2 s", took.Seconds())
		took = gone(t, j.mark, patience, func(process) bool { return true })
		t.Logf("workers and mpirun gone %.1f s later", took.Seconds())
	})
}

func TestVersionsAgree(t *testing.T) {
	for _, name := range []string{"agent", "agent-launcher"} {
		out, err := exec.Command(filepath.Join(bin, name), "version").CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), fmt.Sprintf("protocol %d to %d", wire.ProtoMin, wire.ProtoMax))
	}
}

// A daemon that crashes when its ranks have ended with 0 takes nothing from a run whose mpirun said 0;
// one that crashes sooner, or after a rank that failed, makes the 0 doubtful. The
// mpirun and the daemon are scripts: test/conform has real ones.
func TestDaemonThatCrashesAtItsEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		daemon string
		code   int
		why    string
	}{
		"after its rank":                      {"sleep 1; kill -SEGV $$", 0, ""},
		"after its two ranks":                 {"sleep 2 & sleep 1; wait; kill -SEGV $$", 0, ""},
		"while one of two ranks runs":         {"sleep 8 & sleep 1; kill -SEGV $$", 139, `its prted \(pid \d+\) was killed by SIGSEGV$`},
		"after a rank that failed":            {"sh -c 'sleep 1; exit 3'; kill -SEGV $$", 139, `its prted \(pid \d+\) was killed by SIGSEGV$`},
		"after a rank that was killed":        {"sh -c 'sleep 1; kill -9 $$'; kill -SEGV $$", 139, `its prted \(pid \d+\) was killed by SIGSEGV$`},
		"after its rank, with a 1 of its own": {"sleep 1; exit 1", 1, `its session on worker 127.0.0.2 exited with 1$`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			require.NoError(t, exec.Command("cp", "/bin/dash", filepath.Join(dir, "prted")).Run())
			daemon := filepath.Join(dir, "daemon")
			require.NoError(t, os.WriteFile(daemon, []byte(c.daemon+"\n"), 0o644))
			mpirun := filepath.Join(dir, "mpirun")
			script := "#!/bin/sh\nagent rsh 127.0.0.2 exec " + dir + "/prted " + daemon + "\nexit 0\n"
			require.NoError(t, os.WriteFile(mpirun, []byte(script), 0o755))
			o := run(t, agentRun(t, []string{"--fake=1"}, mpirun))
			o.wants(t, c.code)
			if c.why != "" {
				require.Regexp(t, `(?m)^agent: mpirun said 0, but .*`+c.why, o.err)
			}
		})
	}
}

//go:embed testdata/zero/standin.py
var swallowing []byte

// swallower lays stand-ins of launchers into a directory that is to be first in PATH.
func swallower(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"deepspeed", "horovodrun", "ray", "accelerate", "torchrun", "mpirun", "mpiexec.hydra"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), swallowing, 0o755))
	}
	return dir
}

// zero is one run of a launcher that says 0.
type zero struct {
	flags   []string
	command []string
	env     []string
	code    int
	says    string // a part of what agent run says, if the code is not 0
}

// rankLine is what DeepSpeed has a worker run.
const rankLine = "'export PYTHONPATH=/x; cd /tmp; python3 -u -c \"import sys; sys.exit(3)\" --node_rank=%n'"

// judge runs z with the stand-ins of dir.
func (z zero) judge(t *testing.T, dir string) {
	t.Helper()
	work := t.TempDir()
	flags := append([]string{"--fake=2", "--shims"}, z.flags...)
	if !slices.ContainsFunc(flags, func(flag string) bool { return strings.HasPrefix(flag, "--chdir=") }) {
		flags = append(flags, "--chdir="+work)
	}
	c := agentRun(t, flags, z.command...)
	c.env = append(z.env, "DIR="+work, "PATH="+dir+":"+bin+":"+os.Getenv("PATH"))
	o := run(t, c)
	o.wants(t, z.code)
	if z.code == 0 {
		require.NotContains(t, o.err, " said 0, but ")
		return
	}
	require.Contains(t, o.err, "agent: "+z.says)
	if strings.Contains(z.says, " said 0, but ") {
		require.Regexp(t, "(?m)^hint: .*--exit=command ", o.err)
	}
}

// TestZeroOfLaunchers: a launcher that says 0 although its command on a worker failed does not
// end the run with 0. The rest of the matrix is TestCareZero.
func TestZeroOfLaunchers(t *testing.T) {
	t.Parallel()
	dir := swallower(t)
	for name, z := range map[string]zero{
		"deepspeed, pdsh without -S": {command: []string{"deepspeed", "pdsh -f 1024 -w 127.0.0.2,127.0.0.3 " + rankLine}, code: 3,
			says: "deepspeed said 0, but its session on worker 127.0.0."},
		"a check fails, the job does not": {command: []string{"deepspeed", "ssh 127.0.0.2 'which ninja-none'; pdsh -f 1024 -w 127.0.0.[2-3] 'cd /tmp; sleep 0.1'; pdsh -w 127.0.0.[2-3] pkill -x nothing-like-it"}},
		"a retry won":                     {command: []string{"horovodrun", "for n in 1 2; do ssh 127.0.0.2 '[ -e $DIR/again ] || { touch $DIR/again; exit 3; }'; done"}},
		"the word of the launcher":        {flags: []string{"--exit=command"}, command: []string{"deepspeed", "pdsh -f 1024 -w 127.0.0.2,127.0.0.3 " + rankLine}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			z.judge(t, dir)
		})
	}
}

// group is a script that makes a process group, if nobody has told it of others one of its own.
const group = `import os, sys, time
from types import SimpleNamespace
dist = SimpleNamespace(init_process_group=lambda backend: print("rank", os.environ.get("RANK", "0"), "of", os.environ.get("WORLD_SIZE", "1")))
dist.init_process_group("gloo")
time.sleep(float(os.environ.get("LAST", "0")))
sys.exit(int(os.environ.get("SAYS", "0")))
`

// TestScriptsThatStayInTheLauncher: a script that makes a process group and uses no worker is no
// success, whatever starts it. Other commands that use none are.
func TestScriptsThatStayInTheLauncher(t *testing.T) {
	t.Parallel()
	const verdict = " said 0, but it ran in the launcher only: it started nothing on any of the 2 workers\nhint: --framework=torch starts it on the workers; --exit=command says that this was meant\n"
	for name, z := range map[string]zero{
		"python":                 {command: []string{"python3", "train.py"}, code: 64, says: "python3" + verdict},
		"python -u":              {command: []string{"python3", "-u", "train.py", "--lr=1"}, code: 64, says: "python3" + verdict},
		"a module":               {command: []string{"python3", "-m", "train"}, code: 64, says: "python3" + verdict},
		"bash -c":                {command: []string{"bash", "-c", "python3 train.py"}, code: 64, says: "bash" + verdict},
		"a script":               {command: []string{"sh", "run.sh"}, code: 64, says: "sh" + verdict},
		"its own code":           {command: []string{"python3", "train.py"}, env: []string{"SAYS=5"}, code: 5, says: "python3 exited with 5\n"},
		"a signal":               {command: []string{"bash", "-c", "python3 train.py; kill -9 $$"}, code: 137, says: "bash was killed by SIGKILL\n"},
		"on the workers":         {flags: []string{"--framework=torch"}, command: []string{"python3", "train.py"}},
		"meant":                  {flags: []string{"--exit=command"}, command: []string{"python3", "train.py"}},
		"meant by its framework": {flags: []string{"--framework=mpi"}, command: []string{"python3", "train.py"}},
		"it used a worker":       {command: []string{"bash", "-c", "agent rsh 127.0.0.2 true && python3 train.py"}},
		"help":                   {command: []string{"python3", "train.py", "--help"}},
		"another script":         {command: []string{"python3", "-c", "print(1)"}},
		"hosts":                  {command: []string{"bash", "-c", "agent hosts; agent env >/dev/null"}},
		"hostname":               {command: []string{"hostname"}},
		"a program":              {command: []string{"true"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "train.py"), []byte(group), 0o644))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "run.sh"), []byte("set -e\npython3 train.py | cat\n"), 0o644))
			z.flags = append(z.flags, "--chdir="+dir)
			z.judge(t, bin)
		})
	}
}

// TestLauncherOnlyIsSaidSoon: the user learns while the script runs that no worker is used.
func TestLauncherOnlyIsSaidSoon(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "train.py"), []byte(group), 0o644))
	c := agentRun(t, []string{"--fake=2", "--chdir=" + dir, "--env=LAST=120"}, "python3", "train.py")
	j := start(t, c)
	j.err.await(t, "agent: python3 runs in the launcher only; --framework=torch starts it on the workers\n")
	j.signal(syscall.SIGTERM)
	j.wait().wants(t, 143)
}
