//go:build mpi && pauses

package fake

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestPauses checks that a script may pause between and after its launches for longer than the links and the
// workers of --fake wait. It must succeed, and end soon. exec/session tests pauses of a quarter of an hour.
func TestPauses(t *testing.T) {
	const long, short = 130, 75
	scripts := map[string]struct {
		script string
		flags  []string
		rests  int // seconds
	}{
		"no pause":                {"MPI hostname; MPI hostname", nil, 0},
		"a pause between":         {fmt.Sprintf("MPI true; sleep %d; MPI hostname", long), nil, long},
		"a short pause between":   {fmt.Sprintf("MPI true; sleep %d; MPI hostname", short), nil, short},
		"a pause after":           {fmt.Sprintf("MPI hostname; sleep %d", long), nil, long},
		"a long run":              {fmt.Sprintf("MPI sleep %d; MPI hostname", long), nil, long},
		"kept workers":            {fmt.Sprintf("MPI true; sleep %d; MPI hostname", long), []string{"--keep-workers"}, long},
		"a restart after a pause": {fmt.Sprintf("MPI hostname; sleep %d; [ $MUSTER_ATTEMPT = 1 ] || kill -9 $$", short), []string{"--max-restarts=1"}, 2 * short},
	}
	for mpi, path := range mpiruns(t) {
		for name, s := range scripts {
			t.Run(mpi+"/"+name, func(t *testing.T) {
				t.Parallel()
				words := strings.ReplaceAll(s.script, "MPI", path+" -n 1")
				dir := "PATH=" + filepath.Dir(path) + ":" + os.Getenv("PATH")
				j := start(t, call{argv: append(append([]string{"agent", "run", "--fake=1"}, s.flags...), "--", "sh", "-c", words), env: []string{dir}})
				select {
				case <-j.ended:
				case <-time.After(time.Duration(s.rests)*time.Second + patience):
				}
				o := j.wait()
				o.wants(t, 0)
				require.NotContains(t, o.err, "lost")
				require.Less(t, o.took, time.Duration(s.rests)*time.Second+patience/2)
				t.Logf("%s: %d after %s", t.Name(), o.code, o.took.Round(time.Second))
			})
		}
	}
}
