//go:build linux

package command

import (
	"context"
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/reap"
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
// Ranks are no children of it and keep the worker's limit. It is not for one that starts some
// itself, in the launcher.
func limitFiles(pid, workers int) {
	var has unix.Rlimit
	enough := uint64(max(filesLeast, filesBase+filesPerWorker*workers))
	if unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &has) != nil || has.Cur <= enough {
		return // where it may not be seen it costs time and nothing else
	}
	_ = unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: enough, Max: has.Max}, nil)
}

// launchesOnly reports whether argv is an MPI launcher that starts no ranks as its
// own children.
func launchesOnly(argv []string, slots int) bool { return names.IsMPIRun(argv[0]) && slots == 0 }

// onThread runs f on a thread of its own, which ends with f. Processes that f starts inherit
// what it changes of the thread.
func onThread(f func() error) (err error) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		err = f()
	}()
	<-ended
	return err
}

// blockInterrupt keeps the INT of a terminal from an mpirun that this thread starts: it would end
// its ranks at once, before they have saved. It is not for a script: what else that runs may want
// its INT. Nor for Python, whose multiprocessing unblocks it.
func blockInterrupt() error {
	var set unix.Sigset_t
	set.Val[0] = 1 << (syscall.SIGINT - 1)
	return unix.PthreadSigmask(unix.SIG_BLOCK, &set, nil)
}

// versionTime bounds `mpirun --version`.
const versionTime = 10 * time.Second

// AskVersion runs `NAME --version` and returns what it says.
func AskVersion(ctx context.Context, r *reap.Reaper, name string, env []string) (string, error) {
	path, err := lookPath(name)
	if err != nil {
		return "", err
	}
	ours, theirs, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer ours.Close()
	p, err := r.Start(reap.Spec{Path: path, Argv: []string{name, "--version"}, Env: env, Files: []*os.File{nil, theirs, theirs}, Setpgid: true})
	theirs.Close()
	if err != nil {
		return "", cannotRun(name, err)
	}
	_ = ours.SetReadDeadline(time.Now().Add(versionTime)) // a pipe has one
	text := make([]byte, 0, 4096)
	for len(text) < cap(text) {
		n, err := ours.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		if err != nil {
			break // its end, or the deadline: what came is what there is
		}
	}
	_ = p.SignalGroup(9) // os.ErrProcessDone, as a rule
	<-p.Done()
	return string(text), ctx.Err()
}
