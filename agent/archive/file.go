package archive

import (
	"bytes"
	"errors"
	"os"
	"sync"
	"syscall"
	"time"
)

const (
	// timeEvery is the shortest time between two times of a file in the index.
	timeEvery = 10 * time.Second
	// timesPerSecond bounds the times of all files together. With more than 100 files that write all
	// the time, each has fewer.
	timesPerSecond = 10
)

// file is the output of one stream of a process.
type file struct {
	to   *os.File
	of   *Writer
	name string

	mu     sync.Mutex // a worker that was given up may write during Close
	size   int64
	begins bool      // the next byte begins a line
	noted  time.Time // of the last time in the index
	wrote  bool
	closed bool
}

// Write implements io.Writer. It notes the time of a line that begins in p, but not of each.
func (f *file) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return 0, os.ErrClosed
	}
	n, err := f.to.Write(p)
	if n > 0 {
		f.time(p[:n])
		f.size, f.wrote = f.size+int64(n), true
		f.begins = p[n-1] == '\n'
	}
	return n, err
}

// time notes when p was written, if it is time and a line begins there.
func (f *file) time(p []byte) {
	now := time.Now()
	if now.Sub(f.noted) < max(timeEvery, time.Duration(f.of.files.Load())*time.Second/timesPerSecond) {
		return
	}
	from := f.size
	if !f.begins {
		i := bytes.IndexByte(p, '\n')
		if i < 0 || i == len(p)-1 {
			return
		}
		from += int64(i) + 1
	}
	f.noted = now
	f.of.keep(f.of.note(record{Kind: kindTime, At: now, File: f.name, From: from}))
}

// Close writes what the kernel holds to the disk: the node may be deleted as soon as the job has
// ended.
func (f *file) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	f.closed = true
	f.of.files.Add(-1)
	if !f.wrote {
		return f.to.Close()
	}
	return settle(f.to)
}

// settle writes a file to the disk and closes it. Devices and some file systems cannot sync, and then
// there is nothing to wait for.
func settle(f *os.File) error {
	err := f.Sync()
	for _, cannot := range []syscall.Errno{syscall.EINVAL, syscall.ENOTSUP, syscall.ENOSYS} {
		if errors.Is(err, cannot) {
			err = nil
		}
	}
	return errors.Join(err, f.Close())
}
