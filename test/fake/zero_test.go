//go:build mpi

package fake

import (
	_ "embed"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

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
