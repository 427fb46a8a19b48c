package shortage

import (
	"errors"
	"os"
	"time"
)

// errNotPolled stands for the error of the kernel, which the runtime does not pass on.
var errNotPolled = notPolled{errors.New("the kernel cannot watch the descriptor (epoll)")}

type notPolled struct{ error }

// Hint is the hint that [Way] prints.
func (notPolled) Hint() string {
	return "raise sysctl fs.epoll.max_user_watches, or free memory on the node"
}

// Polled returns f if the runtime's poller has accepted it. Otherwise it closes f and returns an
// error; os.NewFile does not report this. A non-blocking file that is not polled reads as empty at
// once, which looks like its end.
func Polled(f *os.File) (*os.File, error) {
	if err := f.SetDeadline(time.Time{}); err != nil {
		return nil, errors.Join(errNotPolled, f.Close())
	}
	return f, nil
}
