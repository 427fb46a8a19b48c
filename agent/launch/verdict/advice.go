package verdict

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/agent/launch/phrase"
)

// OwnCodes returns exit codes of Open MPI 4 that look like 128 plus a signal, but mean that no rank
// was started.
func OwnCodes() map[int]string {
	return map[int]string{
		132: "132 is also Open MPI's own code when it cannot start the program on a worker: not found there, or not executable; after SIGILL it says \"signal 4\"",
		135: "135 is also Open MPI's own code when a worker does not have the working directory; after SIGBUS it says \"signal 7\"",
	}
}

// TooManyRanks returns a hint if mpirun was told to start more ranks than there are slots, else "".
func TooManyRanks(argv []string, slots, workers int) string {
	ranks, allowed := askedRanks(argv)
	if allowed || workers == 0 || ranks <= slots {
		return ""
	}
	perWorker := (ranks + workers - 1) / workers
	return fmt.Sprintf("%s for %d ranks: --slots=%d before --, or --oversubscribe behind %s", phrase.Count(slots, "slot"), ranks, perWorker, filepath.Base(argv[0]))
}

// askedRanks returns how many ranks an mpirun's words ask for, or 0 if they do not say. allowed
// reports whether they permit more ranks than slots. Only the words before the program count.
// askedRanks guesses how many words an option takes: one, or two for options of MCA and Hydra.
func askedRanks(argv []string) (ranks int, allowed bool) {
	twice := []string{"-mca", "--mca", "-gmca", "--gmca", "--prtemca", "--pmixmca", "-env", "-genv"}
	counts := []string{"-np", "--np", "-n", "--n", "-c"}
	for at := 1; at < len(argv); at++ {
		word := argv[at]
		allowed = allowed || strings.Contains(strings.ToLower(word), "oversubscribe") && !strings.Contains(word, "nooversubscribe")
		switch {
		case !strings.HasPrefix(word, "-"):
			if at == 1 || !strings.HasPrefix(argv[at-1], "-") {
				return ranks, allowed
			}
		case slices.Contains(twice, word):
			allowed = allowed || at+1 < len(argv) && strings.Contains(argv[at+1], "oversubscribe")
			at += 2
		case slices.Contains(counts, word) && at+1 < len(argv):
			if n, err := strconv.Atoi(argv[at+1]); err == nil {
				ranks = n
			}
		}
	}
	return ranks, allowed
}
