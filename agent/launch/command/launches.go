//go:build linux

package command

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/reap"
)

// filesBase and filesPerWorker are twice what an MPI launcher needs. It holds a connection to each
// worker and, in Hydra, three pipes of its agent. The limit is at least filesLeast, the traditional
// default that programs expect.
const filesBase, filesPerWorker, filesLeast = 256, 8, 1024

// limitFiles lowers the soft limit of open files of an MPI launcher, and keeps its hard limit. In
// Open MPI's launcher, each remote agent closes every number below the limit before it becomes the
// agent (plm_rsh_module.c, ssh_child). Many nodes give containers a limit of 1,048,576, which costs
// 0.1 s of CPU for each worker. A limit of 20,000 costs 2 ms, a quarter of the launcher's total
// cost of a launch. With 2,000 it is still a twelfth.
//
// Ranks are not children of the MPI launcher and keep the worker's limit. limitFiles must not be
// used if the MPI launcher starts ranks itself, in the launcher.
func limitFiles(pid, workers int) {
	var has unix.Rlimit
	enough := uint64(max(filesLeast, filesBase+filesPerWorker*workers))
	if unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &has) != nil || has.Cur <= enough {
		return // if the limit cannot be read, the launch is only slower
	}
	_ = unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: enough, Max: has.Max}, nil)
}

// launchesOnly reports whether argv is an MPI launcher that starts no ranks as its own children.
func launchesOnly(argv []string, slots int) bool { return names.IsMPIRun(argv[0]) && slots == 0 }

// startsOverSSH reports whether argv is a launcher that starts its ranks with ssh or pdsh. A
// terminal's INT would make it end its ranks at once, before they have saved. It cannot block INT as
// mpirun does, because Python unblocks it. So it runs outside the terminal's foreground process
// group, with /dev/null as its input: reading from the terminal would stop it there.
func startsOverSSH(argv []string) bool {
	name := filepath.Base(argv[0])
	return name == "horovodrun" || name == "deepspeed"
}

// onThread runs f on a thread of its own, which ends with f. Processes that f starts inherit the
// thread's settings.
func onThread(f func() error) (err error) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		err = f()
	}()
	<-ended
	return err
}

// blockInterrupt blocks a terminal's INT in an mpirun that this thread starts. INT would make
// mpirun end its ranks at once, before they have saved. It is not for scripts, because other
// programs in a script may want INT. It is not for Python either, whose multiprocessing unblocks
// INT.
func blockInterrupt() error {
	var set unix.Sigset_t
	set.Val[0] = 1 << (syscall.SIGINT - 1)
	return unix.PthreadSigmask(unix.SIG_BLOCK, &set, nil)
}

// versionTime bounds `mpirun --version`.
const versionTime = 10 * time.Second

// AskVersion runs `NAME --version` and returns its output.
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
	_ = ours.SetReadDeadline(time.Now().Add(versionTime)) // pipes support deadlines
	text := make([]byte, 0, 4096)
	for len(text) < cap(text) {
		n, err := ours.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		if err != nil {
			break // end of file or deadline: use what has arrived
		}
	}
	_ = p.SignalGroup(9) // os.ErrProcessDone, usually
	<-p.Done()
	return string(text), ctx.Err()
}
