package verdict

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/agent/launch/phrase"
)

// OwnCodes are exit codes of Open MPI 4 that look like 128 and a signal, and say
// that no rank was started.
func OwnCodes() map[int]string {
	return map[int]string{
		132: "132 is also Open MPI's own code when it cannot start the program on a worker: not found there, or not executable; after SIGILL it says \"signal 4\"",
		135: "135 is also Open MPI's own code when a worker does not have the working directory; after SIGBUS it says \"signal 7\"",
	}
}

// TooManyRanks is the way out where mpirun was told to start more ranks than there
// are slots; "" where it was not.
func TooManyRanks(argv []string, slots, workers int) string {
	ranks, allowed := askedRanks(argv)
	if allowed || workers == 0 || ranks <= slots {
		return ""
	}
	perWorker := (ranks + workers - 1) / workers
	return fmt.Sprintf("%s for %d ranks: --slots=%d before --, or --oversubscribe behind %s", phrase.Count(slots, "slot"), ranks, perWorker, filepath.Base(argv[0]))
}

// askedRanks is how many ranks an mpirun's words ask for, 0 where they do not say;
// allowed is whether they allow more than there are slots. Only the words before
// the program count. What an option takes is guessed: one word, two for MCA's and
// Hydra's.
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
