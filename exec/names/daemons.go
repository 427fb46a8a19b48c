package names

import (
	"path/filepath"
	"strings"

	"slices"
)

// Names of MPI daemons in /proc/PID/comm; the kernel keeps 15 bytes.
const (
	daemonORTE   = "orted"           // Open MPI 4
	daemonPRTE   = "prted"           // Open MPI 5
	daemonHydra  = "hydra_pmi_proxy" // MPICH, Intel MPI
	daemonBstrap = "hydra_bstrap_pr" // Intel MPI: hydra_bstrap_proxy
)

// Comm returns the name of a program file in /proc/PID/stat: TASK_COMM_LEN of include/linux/sched.h
// leaves 15 bytes.
func Comm(base string) string { return base[:min(len(base), 15)] }

// IsMPIDaemon reports whether a process of that name is the daemon that mpirun starts on each host
// to start the ranks there.
func IsMPIDaemon(comm string) bool {
	switch comm {
	case daemonORTE, daemonPRTE, daemonHydra, daemonBstrap:
		return true
	}
	return false
}

// IsMPIRun reports whether argv[0] names an MPI launcher: mpirun, mpiexec, orterun or prterun, with
// or without the suffix of a family (mpiexec.hydra, mpirun.openmpi, mpiexec.mpich).
func IsMPIRun(argv0 string) bool {
	stem, _, _ := strings.Cut(filepath.Base(argv0), ".")
	return slices.Contains([]string{"mpirun", "mpiexec", "orterun", "prterun"}, stem)
}
