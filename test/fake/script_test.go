//go:build mpi

package fake

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/musterhq/muster/test/suite/proc"
	"github.com/stretchr/testify/require"
)

// way is the program between agent run and mpirun.
type way struct {
	name  string
	hides bool // it exits with 0, whatever mpirun's exit code is
	wrap  func(t *testing.T, mpirun []string) []string
}

// before returns a way that puts words before mpirun.
func before(words ...string) func(*testing.T, []string) []string {
	return func(_ *testing.T, mpirun []string) []string { return slices.Concat(words, mpirun) }
}

// scripted returns a way that runs a script with that text. In the text, $@ is mpirun.
func scripted(name, text string) func(*testing.T, []string) []string {
	return func(t *testing.T, mpirun []string) []string {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o755))
		return append([]string{path}, mpirun...)
	}
}

func made(t *testing.T, mpirun []string) []string {
	path := filepath.Join(t.TempDir(), "Makefile")
	require.NoError(t, os.WriteFile(path, []byte("all:\n\t"+strings.Join(mpirun, " ")+"\n"), 0o644))
	return []string{"make", "-s", "-f", path}
}

func ways() []way {
	return []way{
		{"direct", false, before()},
		{"env", false, before("env", "A=b")},
		{"timeout", false, before("timeout", "100")},
		{"bash -c", false, before("bash", "-c", `echo b; "$@"`, "bash")},
		{"script", false, scripted("train.sh", "#!/bin/sh\nset -e\ncd /\n\"$@\"\necho done\n")},
		{"python", false, before("python3", "-c", "import subprocess, sys\nsubprocess.run(sys.argv[1:], check=True)")},
		{"make", false, made},
		{"pipe", true, before("bash", "-c", `"$@" | cat`, "bash")},
		{"script that goes on", true, scripted("train.sh", "#!/bin/sh\n\"$@\"\necho done\n")},
		{"python that goes on", true, before("python3", "-c", "import subprocess, sys\nsubprocess.run(sys.argv[1:])")},
	}
}

// mishap is a failure of mpirun or of its job.
type mishap struct {
	name   string
	act    []string       // arguments of the program act
	strike func(*job) int // causes the failure when the ranks wait, and returns the number of processes hit
}

// told signals mpirun.
func told(sig syscall.Signal) func(*job) int {
	return func(j *job) int {
		return proc.Signal("FAKE_TEST="+j.mark, sig, func(p proc.Process) bool {
			return p.Fake() == "" && (p.Comm == "mpirun.openmpi" || p.Comm == "mpiexec.mpich")
		})
	}
}

// daemonKilled kills the daemon on the last worker.
func daemonKilled(j *job) int {
	return proc.Signal("FAKE_TEST="+j.mark, syscall.SIGKILL, func(p proc.Process) bool {
		return p.Fake() == "127.0.0.3" && (p.Comm == "orted" || p.Comm == "hydra_pmi_proxy")
	})
}

func mishaps() []mishap {
	// A worker may not see ranks that live for only a moment.
	wait := []string{"wait", "0", "0", "1"}
	return []mishap{
		{"TERM to mpirun", wait, told(syscall.SIGTERM)},
		{"INT to mpirun", wait, told(syscall.SIGINT)},
		{"KILL to mpirun", wait, told(syscall.SIGKILL)},
		{"daemon killed", wait, daemonKilled},
		{"rank killed by SIGKILL", []string{"kill", "9", "1", "1"}, nil},
		{"rank killed by SIGSEGV", []string{"kill", "11", "1", "1"}, nil},
		{"rank exits with 3", []string{"exit", "3", "1", "1"}, nil},
		{"rank returns 3", []string{"final", "3", "1", "1"}, nil},
		{"MPI_Abort with 0", []string{"abort", "0", "1", "1"}, nil},
	}
}

// chosenCell reports whether a cell is played. Without the tag cells, these are one cell for each way, one for each
// mishap behind a script that continues, and some under Open MPI.
func chosenCell(f family, w way, m mishap) bool {
	switch {
	case everyCell:
		return true
	case w.name == "script that goes on":
		return f.name == "mpich" || m.name == "daemon killed" || m.name == "MPI_Abort with 0"
	case f.name == "mpich":
		return m.name == "MPI_Abort with 0" || w.name == "bash -c" && m.name == "TERM to mpirun"
	}
	return false
}

// TestZeroBehindAScript checks that an exit code 0 that the workers contradict is not the run's, whatever runs
// between agent run and mpirun.
func TestZeroBehindAScript(t *testing.T) {
	every(t, func(t *testing.T, f family) {
		for _, m := range mishaps() {
			for _, w := range ways() {
				if !chosenCell(f, w, m) {
					continue
				}
				t.Run(m.name+", "+w.name, func(t *testing.T) {
					t.Parallel()
					j := start(t, agentRun(t, []string{"--fake=2"}, w.wrap(t, append([]string{f.mpirun, f.program("act")}, m.act...))...))
					if m.strike != nil {
						await(t, j.out, "ready\n")
						require.NotZero(t, m.strike(j), "no process was hit")
					}
					o := j.wait()
					require.NotZero(t, o.code, "a false 0\nstdout: %s\nstderr: %s", tail(o.out), tail(o.err))
					require.Regexp(t, `(?m)^agent: .*(exited with|was killed by|did not end by itself)`, o.err)
					if w.hides {
						require.Contains(t, o.err, " exited with 0, but ")
						require.Contains(t, o.err, "hint: --exit=command uses the exit code of ")
					}
					t.Logf("| %s | %s | %s | %d | %.0f s |", f.name, m.name, w.name, o.code, o.took.Seconds())
				})
			}
		}
	})
}

// TestScriptsThatGoOn plays the script only with MPICH, which is faster, unless the tag cells is set.
func TestScriptsThatGoOn(t *testing.T) {
	every(t, func(t *testing.T, f family) {
		if f.name == "mpich" || everyCell {
			playWith(t, "scripts-go-on", f)
		}
	})
}

// TestScriptRetriesAJobThatWeEnd checks that a job that can no longer succeed is ended behind a script too, and
// that the script continues.
func TestScriptRetriesAJobThatWeEnd(t *testing.T) {
	t.Parallel()
	f := families[1]
	j := start(t, agentRun(t, []string{"--fake=2"}, "bash", "-c", `"$0" "$1" wait 0 0 1; "$0" "$1" final 0 0`, f.mpirun, f.program("act")))
	await(t, j.out, "ready\n")
	require.NotZero(t, daemonKilled(j))
	began := time.Now()
	o := j.wait()
	o.wants(t, 0)
	require.Contains(t, o.err, "its hydra_pmi_proxy (pid ")
	require.Less(t, time.Since(began), 40*time.Second)
}
