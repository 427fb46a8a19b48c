package archive

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks f, and reports whether another process holds the lock. It does nothing on a file system without
// locks.
func tryLock(f *os.File) (taken bool) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR)
}

// unlock releases the lock of f.
func unlock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) } // at worst its end does
