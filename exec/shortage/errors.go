package shortage

import (
	"errors"
	"slices"
	"strings"
	"syscall"
)

// Passes reports whether err comes from a shortage that may end by itself, or from a peer that
// disconnected, so that the call can be repeated.
func Passes(err error) bool {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return false
	}
	return slices.Contains([]syscall.Errno{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOBUFS,
		// epoll_ctl returns ENOSPC if a user watches too many descriptors.
		syscall.ENOSPC,
		syscall.EINTR, syscall.EAGAIN, syscall.ECONNABORTED, syscall.ECONNRESET,
		// accept(2) returns pending network errors of a new connection.
		syscall.ENETDOWN, syscall.EPROTO, syscall.ENOPROTOOPT, syscall.EHOSTDOWN, syscall.EHOSTUNREACH,
		syscall.EOPNOTSUPP, syscall.ENETUNREACH, syscall.ETIMEDOUT, syscall.EPERM,
	}, errno)
}

// Hint says how to end the shortage behind err. It returns "" for other errors.
func Hint(err error) string {
	switch {
	case errors.Is(err, syscall.EMFILE):
		return "raise the limit of open files: ulimit -n 65536"
	case errors.Is(err, syscall.ENFILE):
		return "the node has no open files left: sysctl fs.file-nr shows how many are in use"
	case errors.Is(err, syscall.ENOMEM), errors.Is(err, syscall.ENOBUFS):
		return "the node or the container has no memory left: raise its memory limit"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "free space: df -h shows how much is left, df -i how many files"
	case errors.Is(err, syscall.EAGAIN):
		return "raise the limit of processes: ulimit -u, or pids.max of the container"
	}
	return ""
}

// HintIn is [Hint] for a sentence that ends with the error text of another process.
func HintIn(sentence string) string {
	for _, errno := range []syscall.Errno{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOBUFS, syscall.ENOSPC, syscall.EDQUOT, syscall.EAGAIN,
	} {
		if strings.HasSuffix(sentence, ": "+errno.Error()) {
			return Hint(errno)
		}
	}
	if strings.HasSuffix(sentence, ": "+errNotPolled.Error()) {
		return errNotPolled.Hint()
	}
	return ""
}

// Way returns the hint to print below err. A shortage of descriptors or memory comes first, because
// a hint in err was written for another cause. Otherwise it is the hint in err, or [Hint].
func Way(err error) string {
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOBUFS} {
		if errors.Is(err, errno) {
			return Hint(errno)
		}
	}
	var h interface{ Hint() string }
	if errors.As(err, &h) && h.Hint() != "" {
		return h.Hint()
	}
	return Hint(err)
}
