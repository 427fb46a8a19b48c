//go:build linux

package launch

import (
	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/names"
)

// filesBase and filesPerWorker are twice what an MPI launcher needs: it holds a connection to
// each worker and, in Hydra, three pipes of its agent. Nobody gets less than filesLeast, which
// is what programs have found since there are limits.
const filesBase, filesPerWorker, filesLeast = 256, 8, 1024

// limitFiles takes down the soft limit of open files of an MPI launcher, whose hard limit
// stays. Open MPI's has each remote agent close every number below the limit before it
// becomes the agent (plm_rsh_module.c, ssh_child): with the 1,048,576 that many nodes give to
// containers that is a tenth of a second of CPU for each worker, with 20,000 two
// milliseconds, a quarter of all that a launch costs in the launcher; with 2,000 it is a twelfth
// still.
//
// Ranks are no children of it and keep the worker's limit; where it starts some itself, in the
// launcher, nothing is changed.
func (r *runner) limitFiles(argv []string, pid, workers int) {
	if !r.launchesOnly(argv) {
		return
	}
	var has unix.Rlimit
	enough := uint64(max(filesLeast, filesBase+filesPerWorker*workers))
	if unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &has) != nil || has.Cur <= enough {
		return // where it may not be seen it costs time and nothing else
	}
	_ = unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: enough, Max: has.Max}, nil)
}

// launchesOnly reports whether argv is an MPI launcher that starts no ranks as its
// own children.
func (r *runner) launchesOnly(argv []string) bool {
	return names.IsMPIRun(argv[0]) && r.cfg.LauncherSlots == 0
}
