//go:build mpi

package fake

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

//go:embed testdata/late.c
var lateSource []byte

// Open MPI 4 hangs from 32 ranks on a worker.
func TestRanksThatEndAtOnceAreCounted(t *testing.T) {
	t.Parallel()
	endAtOnce(t, "mpirun.openmpi", "OMPI_MCA_odls_base_max_threads=16", 32)
}

// endAtOnce runs ranks that end before a thread of their daemon has noted the pid. With
// threads, the user's own setting, mpirun never ends; it does with what Muster sets.
func endAtOnce(t *testing.T, mpirun, threads string, ranks int) {
	t.Helper()
	dir := t.TempDir()
	source, late := filepath.Join(dir, "late.c"), filepath.Join(dir, "late.so")
	require.NoError(t, os.WriteFile(source, lateSource, 0o644))
	out, err := exec.Command("mpicc.openmpi", "-O2", "-shared", "-fPIC", "-o", late, source, "-ldl").CombinedOutput()
	require.NoError(t, err, string(out))

	n := strconv.Itoa(ranks)
	words := []string{mpirun, "-n", n, "echo", "rank"}
	ours := agentRun(t, []string{"--fake=1", "--slots=" + n}, words...)
	ours.env = []string{"LD_PRELOAD=" + late}
	theirs := agentRun(t, []string{"--fake=1", "--slots=" + n}, append([]string{"timeout", "10"}, words...)...)
	theirs.env = append([]string{threads}, ours.env...)

	o := run(t, theirs)
	o.wants(t, 124)
	require.Equal(t, ranks, strings.Count(o.out, "rank\n"), "all ranks have run: %s", o.err)
	o = run(t, ours)
	o.wants(t, 0)
	require.Equal(t, ranks, strings.Count(o.out, "rank\n"))
}
