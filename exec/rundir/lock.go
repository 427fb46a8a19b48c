package rundir

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// lockWithin bounds the wait for the lock. Its holder opens a socket, which takes well under a
// millisecond. A process of our uid that holds it on purpose must not stop us.
const lockWithin = time.Second

// lock keeps other processes from opening sockets in the directory until unlock is called. A socket
// that is bound and does not listen yet looks like one that a dead process left behind, so another
// process would remove it. After lockWithin lock gives up and returns without the lock.
func (p *private) lock() (unlock func(), err error) {
	fd, err := unix.Open(p.at("."), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0) // O_PATH takes no lock
	if err != nil {
		return nil, fmt.Errorf("lock the directory: %w", err)
	}
	for end := time.Now().Add(lockWithin); ; time.Sleep(time.Millisecond) { // flock has no timeout
		err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
		if err == nil || !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) || time.Now().After(end) {
			return func() { unix.Close(fd) }, nil
		}
	}
}
