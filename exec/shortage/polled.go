package shortage

import (
	"errors"
	"os"
	"time"
)

// errNotPolled: the runtime keeps the kernel's own answer to itself.
var errNotPolled = notPolled{errors.New("epoll does not watch it")}

type notPolled struct{ error }

// Hint is the way out for [Way].
func (notPolled) Hint() string {
	return "the user watches too many descriptors (sysctl fs.epoll.max_user_watches), or the node has no memory left"
}

// Polled returns f if the runtime's poller has taken it; otherwise it closes f and returns an
// error. os.NewFile does not tell. A non-blocking file that nobody watches reads as empty at
// once, which looks like its end.
func Polled(f *os.File) (*os.File, error) {
	if err := f.SetDeadline(time.Time{}); err != nil {
		return nil, errors.Join(errNotPolled, f.Close())
	}
	return f, nil
}
