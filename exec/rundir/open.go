package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// private is an open directory. A symbolic link that is later put in its path does not change where
// names in it lead.
type private struct {
	path string
	file *os.File
}

// openPrivate opens dir and checks that it is a real directory of our own that no other user can
// enter. The caller closes it.
func openPrivate(dir string) (*private, error) {
	p, err := openDir(dir)
	if err != nil {
		return nil, err
	}
	if err := p.check(os.Getuid()); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// openDir opens a directory of any owner and mode. It does not follow a symbolic link at its end.
func openDir(dir string) (*private, error) {
	for {
		fd, err := unix.Open(dir, openFlags, 0)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
			return nil, fmt.Errorf("%s: not a directory", dir)
		case err != nil:
			return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
		}
		return &private{path: dir, file: os.NewFile(uintptr(fd), dir)}, nil
	}
}

// check returns an error unless the directory belongs to user and has mode 0700.
func (p *private) check(user int) error {
	info, err := p.file.Stat()
	if err != nil {
		return err
	}
	if owner := ownerOf(info); owner != user {
		return fmt.Errorf("%s: owned by uid %d, not by uid %d", p.path, owner, user)
	}
	if mode := info.Mode().Perm(); mode != 0o700 {
		return fmt.Errorf("%s: mode is %#o, want 0700", p.path, mode)
	}
	return nil
}

// stat returns the mode and owner of a name in the directory. It follows no link.
func (p *private) stat(name string) (mode uint32, owner int, err error) {
	var st unix.Stat_t
	if err := unix.Fstatat(int(p.file.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return 0, 0, &fs.PathError{Op: "lstat", Path: p.path + "/" + name, Err: err}
	}
	return uint32(st.Mode), int(st.Uid), nil
}

func (p *private) close() { p.file.Close() }
