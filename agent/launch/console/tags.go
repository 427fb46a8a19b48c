//go:build linux

package console

import "strings"

// TagOption returns the option with which this mpirun prints the rank before each line. version is
// the output of its --version. TagOption returns nil for an unknown mpirun.
func TagOption(version string) []string {
	first, _, _ := strings.Cut(strings.TrimSpace(version), "\n")
	switch {
	case strings.Contains(first, "(Open MPI) 5"), strings.Contains(first, "(PRRTE)"), strings.Contains(first, "PRRTE"):
		return []string{"--output", "tag"}
	case strings.Contains(first, "(Open MPI)"), strings.Contains(first, "(OpenRTE)"):
		return []string{"--tag-output"}
	case strings.Contains(version, "Intel(R) MPI"), strings.Contains(version, "HYDRA"):
		return []string{"-prepend-rank"}
	}
	return nil
}
