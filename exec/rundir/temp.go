package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// usualTemp is where programs put temporary files when nobody says otherwise.
const usualTemp = "/tmp"

// Temp is the TMPDIR for what runs beside us: "" where none is needed, since the
// user has set one or /tmp can be written; else a directory below dir, which is
// one of Create, made if it is missing. Open MPI's daemons end where they cannot
// make their session directory.
func Temp(dir string) (string, error) { return temp(dir, usualTemp) }

func temp(dir, usual string) (string, error) {
	if unix.Access(usual, unix.W_OK|unix.X_OK) == nil {
		return "", nil
	}
	return OwnTemp(dir)
}

// OwnTemp is the TMPDIR for what must not share /tmp: "" where the user has set one, who
// then knows; else a directory as Temp makes it.
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
