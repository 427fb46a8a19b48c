package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/names"
)

// MaxSocketPath is the longest path of a unix socket in bytes: sun_path in unix(7) holds 108, with
// the closing NUL.
const MaxSocketPath = 107

// NotFoundError reports that no candidate has a socket of that name.
type NotFoundError struct {
	Name   string   // the socket's file name
	Looked []string // paths that were tried
}

func (e *NotFoundError) Error() string {
	return "no socket at " + strings.Join(e.Looked, ", ")
}

// PathTooLongError reports that Path is too long for a socket.
type PathTooLongError struct{ Path string }

func (e *PathTooLongError) Error() string {
	return fmt.Sprintf("socket path %s is too long: %d bytes, at most %d", e.Path, len(e.Path), MaxSocketPath)
}

// Hint returns what to do about it.
func (e *PathTooLongError) Hint() string {
	return "set " + names.EnvDir + " to a directory with a shorter path"
}

// Broker returns the path of the launcher's broker socket: $MUSTER_BROKER, or the one that Find
// finds.
func Broker() (string, error) {
	if path := os.Getenv(names.EnvBroker); path != "" {
		return path, nil
	}
	s, err := Find(names.BrokerSocket)
	if err != nil {
		return "", err
	}
	s.Close()
	return s.Path, nil
}

// Listen opens a unix stream socket at path with mode 0600. The directory must come from Create: no
// other user can enter it, so the socket is not exposed between bind and chmod. Listen replaces a
// socket that a dead process left behind; a socket that answers is an error.
func Listen(path string) (*net.UnixListener, error) {
	if len(path) > MaxSocketPath {
		return nil, &PathTooLongError{Path: path}
	}
	dir, err := openPrivate(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	defer dir.close()
	unlock, err := dir.lock()
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	defer unlock()
	l, err := listen(dir, path)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	return l, nil
}

func listen(dir *private, path string) (*net.UnixListener, error) {
	inside := dir.at(filepath.Base(path))
	if err := clear(inside); err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	// This fails if the directory was replaced meanwhile; the socket is then not in ours.
	if err := os.Chmod(inside, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// clear removes a socket without a listener. It keeps the socket if it cannot tell, for example if
// the queue of a busy listener is full.
func clear(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return errors.New("the file there is not a socket")
	}
	conn, err := net.Dial("unix", path)
	switch {
	case err == nil:
		conn.Close()
		return errors.New("another process listens on it")
	case errors.Is(err, unix.ECONNREFUSED):
		return os.Remove(path)
	}
	return fmt.Errorf("check for another process that listens on it: %w", errnoOf(err))
}
