package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// usualTemp is the default directory of temporary files.
const usualTemp = "/tmp"

// Temp returns the TMPDIR for processes of this container. It returns "" if none is needed, because
// the user has set one or /tmp is writable. Otherwise it returns a directory in dir (from Create),
// and creates it if necessary. Open MPI's daemons exit if they cannot create their session
// directory.
func Temp(dir string) (string, error) { return temp(dir, usualTemp) }

func temp(dir, usual string) (string, error) {
	if unix.Access(usual, unix.W_OK|unix.X_OK) == nil {
		return "", nil
	}
	return OwnTemp(dir)
}

// OwnTemp returns the TMPDIR for processes that must not share /tmp. It returns "" if the user has
// set one, else a directory as in Temp.
func OwnTemp(dir string) (string, error) {
	if os.Getenv("TMPDIR") != "" {
		return "", nil
	}
	path := filepath.Join(dir, "tmp")
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("make a directory for temporary files: %w", err)
	}
	p, err := openPrivate(path)
	if err != nil {
		return "", fmt.Errorf("make a directory for temporary files: %w", err)
	}
	p.close()
	return path, nil
}
