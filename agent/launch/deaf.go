//go:build linux

package launch

import (
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

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
