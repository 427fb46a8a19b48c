//go:build mpi && pauses

package fake

import "testing"

// TestRanksThatEndAtOnceAreCountedByOpenMPI5 needs only one rank: Open MPI 5 hangs with one.
func TestRanksThatEndAtOnceAreCountedByOpenMPI5(t *testing.T) {
	t.Parallel()
	endAtOnce(t, mpiruns(t)["openmpi5"], "PRTE_MCA_odls_base_max_threads=16", 1)
}
