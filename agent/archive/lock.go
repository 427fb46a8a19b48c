package archive

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const (
	// lockTime is the longest wait for a lock. Its holder moves the files of a run, about a thousand a second
	// on a network file system.
	lockTime  = 30 * time.Second
	lockPause = 2 * time.Millisecond
)

// lockEarlier locks the index of the earlier run in dir. Only the holder of that lock moves the files of the
// run, and the next run begins after that. Without it, a slow launcher could remove files of the next run. On
// file systems without locks it locks nothing. The caller calls release, which is nil if there is no earlier run.
func lockEarlier(dir string) (release func(), err error) {
	for _, name := range []string{IndexName, oldLedger} {
		path := filepath.Join(dir, name)
		for {
			f, err := openToLock(path)
			if errors.Is(err, fs.ErrNotExist) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("read output directory: %w", err)
			}
			release := func() { _ = f.Close() } // nothing was written
			if !lock(f) {
				release()
				return nil, &busyError{path}
			}
			own, err := f.Stat()
			if there, errThere := os.Stat(path); err == nil && errThere == nil && os.SameFile(own, there) {
				return release, nil
			}
			release()
			if err != nil {
				return nil, fmt.Errorf("read output directory: %w", err)
			}
			// Another launcher has moved it meanwhile.
		}
	}
	return nil, nil
}

// openToLock opens a file for a lock. NFS has no exclusive locks for files that are only read.
func openToLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrPermission) {
		f, err = os.Open(path)
	}
	return f, err
}

// lock locks f until f is closed or unlock is called. It returns false if another process holds the lock for
// lockTime.
func lock(f *os.File) bool {
	for end := time.Now().Add(lockTime); ; time.Sleep(lockPause) { // flock has no timeout
		if !tryLock(f) {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}
