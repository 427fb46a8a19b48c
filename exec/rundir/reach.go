package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Socket is a socket in a private directory. The directory stays open until Close, so no other user
// can replace the socket.
type Socket struct {
	Path string
	dir  *private
	user int // owns the directory and the socket, and serves it
}

// Find returns our first socket of that name in a private directory, or a *NotFoundError.
func Find(name string) (*Socket, error) {
	missing := &NotFoundError{Name: name}
	for _, dir := range Candidates() {
		path := filepath.Join(dir, name)
		s, err := reach(path, os.Getuid())
		if err == nil {
			return s, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			path += " (" + err.Error() + ")"
		}
		missing.Looked = append(missing.Looked, path)
	}
	return nil, missing
}

// Reach returns our socket at path. Its directory must be private. Root may reach the sockets of
// other users.
func Reach(path string) (*Socket, error) {
	user := os.Getuid()
	if user == 0 {
		info, err := os.Lstat(path)
		if err != nil {
			return nil, err
		}
		user = ownerOf(info)
	}
	return reach(path, user)
}

// reach opens the directory of path and checks it and the socket.
func reach(path string, user int) (*Socket, error) {
	dir, err := openDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	mode, owner, err := dir.stat(filepath.Base(path))
	if err == nil {
		err = dir.check(user)
	}
	switch {
	case err != nil:
	case mode&unix.S_IFMT != unix.S_IFSOCK:
		err = fmt.Errorf("%s: not a socket", path)
	case owner != user:
		err = fmt.Errorf("%s: owned by uid %d, not by uid %d", path, owner, user)
	default:
		return &Socket{Path: path, dir: dir, user: user}, nil
	}
	dir.close()
	return nil, err
}

// Close closes the directory. Connections stay open.
func (s *Socket) Close() { s.dir.close() }

// Address returns a path for connect(2). It is valid until Close.
func (s *Socket) Address() string { return s.dir.at(filepath.Base(s.Path)) }

// Trust returns an error unless uid, which is the server's, is the socket's owner or root.
func (s *Socket) Trust(uid int) error {
	if uid != s.user && uid != 0 {
		return fmt.Errorf("%s: served by uid %d, not by uid %d", s.Path, uid, s.user)
	}
	return nil
}

// Dial connects to the socket and checks the server's uid.
func (s *Socket) Dial() (*net.UnixConn, error) {
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: s.Address(), Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", s.Path, errnoOf(err))
	}
	uid, _, err := PeerCred(c)
	if err == nil {
		err = s.Trust(uid)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// errnoOf returns the errno in err, without the path in /proc, which a reader would not recognize.
func errnoOf(err error) error {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}
