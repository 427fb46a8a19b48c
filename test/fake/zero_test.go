//go:build mpi

package fake

import (
	_ "embed"
	"os"
	"path/filepath"
	"strings"
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
	c := agentRun(t, append([]string{"--fake=2", "--shims", "--chdir=" + work}, z.flags...), z.command...)
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
