//go:build mpi

package fake

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// wrappings returns functions that wrap a launcher of PyTorch in a command. Each returns the command's words, given
// the launcher's words and a directory for a script.
func wrappings(t *testing.T) map[string]func(launcher, dir string) []string {
	lay := func(path, text string) string {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o755))
		return path
	}
	return map[string]func(launcher, dir string) []string{
		"bash -c": func(l, _ string) []string { return []string{"bash", "-c", "echo begin; " + l} },
		"script file": func(l, dir string) []string {
			return []string{lay(dir+"/run.sh", "#!/bin/bash\nset -e\n# torchrun --standalone x.py\nexec "+l+"\n")}
		},
		"env": func(l, _ string) []string {
			return append([]string{"env", "-u", "NOTHING", "A=1"}, strings.Fields(l)...)
		},
		"timeout": func(l, _ string) []string {
			return append([]string{"timeout", "-s", "KILL", "60"}, strings.Fields(l)...)
		},
		"make": func(l, dir string) []string {
			lay(dir+"/Makefile", "other:\n\tmpirun ./x\ntrain: ready\n\t@"+l+"\nready:\n\t@true\n")
			return []string{"make", "--no-print-directory", "-C", dir, "train"}
		},
		"python": func(l, dir string) []string {
			words := `"` + strings.Join(strings.Fields(l), `", "`) + `"`
			return []string{"python3", lay(dir+"/launch.py", "\"\"\"torchrun --standalone is another thing\"\"\"\nimport subprocess, sys\nsys.exit(subprocess.call(["+words+"]))\n")}
		},
	}
}

var worldLine = regexp.MustCompile(`(?m)world rank=(\d+) of (\d+) local=(\d+) at (\S+)$`)

// ofWorld requires the ranks 0 to n-1 of one world, all with the same rendezvous place.
func ofWorld(t testing.TB, o outcome, n int) {
	t.Helper()
	var ranks []string
	var places []string
	for _, m := range worldLine.FindAllStringSubmatch(o.out, -1) {
		require.Equal(t, fmt.Sprint(n), m[2], o.out)
		ranks = append(ranks, m[1])
		places = append(places, m[4])
	}
	slices.Sort(ranks)
	var want []string
	for rank := range n {
		want = append(want, fmt.Sprint(rank))
	}
	require.Equal(t, want, ranks, "%s\n%s", o.out, o.err)
	require.Len(t, slices.Compact(places), 1)
	require.NotContains(t, places[0], "alone")
	require.NotContains(t, places[0], "localhost")
}

//go:embed all:testdata/below
var belowSources embed.FS

// belowPrograms writes the stand-ins to a directory.
func belowPrograms(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	sources, err := fs.Sub(belowSources, "testdata/below")
	require.NoError(t, err)
	require.NoError(t, os.CopyFS(dir, sources))
	for _, name := range []string{"torchrun", "accelerate"} {
		require.NoError(t, os.Chmod(filepath.Join(dir, name), 0o755))
	}
	return dir
}

// below returns a job of two workers with the programs of dir in PATH.
func below(t *testing.T, dir string, flags []string, command ...string) call {
	t.Helper()
	c := agentRun(t, append([]string{"--fake=2"}, flags...), command...)
	c.env = append(c.env, "PATH="+dir+":"+bin+":"+os.Getenv("PATH"), "PYTHONPATH="+dir, "PYTHONDONTWRITEBYTECODE=1")
	return c
}

// TestBelow checks that a launcher inside any wrapping makes one world of all workers. If its arguments would make
// a world on each worker, it must be refused with a message.
func TestBelow(t *testing.T) {
	t.Parallel()
	programs := belowPrograms(t)
	script := filepath.Join(programs, "train.py")
	for wrapping, wrap := range wrappings(t) {
		for launcher, words := range map[string]string{"torchrun": "torchrun", "python -m": "python3 -m torch.distributed.run", "accelerate": "accelerate launch",
			"standalone": "torchrun --standalone", "nnodes=1": "torchrun --nnodes 1"} {
			for _, framework := range []string{"torch", "none"} {
				t.Run(wrapping+"/"+launcher+"/"+framework, func(t *testing.T) {
					t.Parallel()
					var flags []string
					if framework != "none" {
						flags = []string{"--framework=" + framework}
					}
					o := run(t, below(t, programs, flags, wrap(words+" "+script, t.TempDir())...))
					if refused, _ := strings.CutPrefix(words, "torchrun "); strings.HasPrefix(refused, "--") {
						o.wants(t, 64)
						require.Less(t, o.took, 10*time.Second)
						require.Regexp(t, `(?m)^agent: .*torchrun `+strings.Replace(refused, " ", "=", 1)+` would start a separate job on each of the 2 workers`, o.err)
						t.Logf("%-11s %-10s %-5s 64, refused", wrapping, launcher, framework)
						return
					}
					o.wants(t, 0)
					ofWorld(t, o, 2)
					t.Logf("%-11s %-10s %-5s 0, one world of 2", wrapping, launcher, framework)
				})
			}
		}
	}
}

// TestBelowMore tests what the matrix of TestBelow leaves out.
func TestBelowMore(t *testing.T) { play(t, "below") }
