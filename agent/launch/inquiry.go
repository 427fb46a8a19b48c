package launch

import (
	"path/filepath"
	"slices"
	"strings"
)

// Options of the MPI launchers after which they print something and run nothing, and
// those options before them that take a value. Open MPI, MPICH, Intel MPI and horovodrun.
var (
	inquiries = []string{"--version", "-version", "-V", "--help", "-help", "-h", "-?", "--info", "-info", "-cb", "--check-build"}
	valued    = []string{"-n", "-np", "--n", "--np", "-c", "-N", "-ppn", "-H", "-host", "--host", "-hosts",
		"-f", "-hostfile", "--hostfile", "-machinefile", "--machinefile", "-wdir", "--wdir"}
)

// isInquiry reports whether an MPI launcher is asked about itself (mpirun --version).
// Words from the program's name on are the program's.
func isInquiry(argv []string) bool {
	for i := 1; i < len(argv); i++ {
		switch word := argv[i]; {
		case slices.Contains(inquiries, word), word == "-v" && filepath.Base(argv[0]) == "horovodrun":
			return true
		case slices.Contains(valued, word):
			i++
		case !strings.HasPrefix(word, "-"):
			return false
		}
	}
	return false
}
