package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// laidPrefix begins the names of the directories that Laid makes.
const laidPrefix = "laid-"

// Laid makes a directory below dir, which is one of Create, for small files that
// processes beside us are to read; only we can write or enter it.
func Laid(dir string) (string, error) {
	path, err := os.MkdirTemp(dir, laidPrefix)
	if err != nil {
		return "", fmt.Errorf("make a directory for files: %w", err)
	}
	return path, nil
}

// Clear removes every directory that Laid has made below dir.
func Clear(dir string) error {
	all, err := filepath.Glob(filepath.Join(dir, laidPrefix+"*"))
	if err != nil {
		return fmt.Errorf("remove files: %w", err)
	}
	var errs []error
	for _, path := range all {
		errs = append(errs, os.RemoveAll(path))
	}
	return errors.Join(errs...)
}
