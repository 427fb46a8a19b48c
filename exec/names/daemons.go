package names

import (
	"path/filepath"
	"strings"

	"slices"
)

// MPI daemons, as /proc/PID/comm has them: the kernel keeps 15 bytes.
const (
	daemonORTE   = "orted"           // Open MPI 4
	daemonPRTE   = "prted"           // Open MPI 5
	daemonHydra  = "hydra_pmi_proxy" // MPICH, Intel MPI
	daemonBstrap = "hydra_bstrap_pr" // Intel MPI: hydra_bstrap_proxy
)

// Comm is what a program of that file name is called in /proc/PID/stat: TASK_COMM_LEN of
// include/linux/sched.h leaves 15 bytes.
func Comm(base string) string { return base[:min(len(base), 15)] }

// IsMPIDaemon says whether a process of that name is one that mpirun starts on
// each host and that starts the ranks there.
func IsMPIDaemon(comm string) bool {
	switch comm {
	case daemonORTE, daemonPRTE, daemonHydra, daemonBstrap:
		return true
	}
	return false
}

// IsMPIRun tells whether argv[0] is an MPI launcher by its name: mpirun,
// mpiexec, orterun, prterun, with a family's suffix (mpiexec.hydra,
// mpirun.openmpi, mpiexec.mpich) or without.
func IsMPIRun(argv0 string) bool {
	stem, _, _ := strings.Cut(filepath.Base(argv0), ".")
	return slices.Contains([]string{"mpirun", "mpiexec", "orterun", "prterun"}, stem)
}
