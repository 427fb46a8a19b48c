package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// laidPrefix begins the names of the directories that Laid makes.
const laidPrefix = "laid-"

// Laid creates a directory in dir (from Create) for small files that other processes of the
// container read. Only our uid can write or enter it.
func Laid(dir string) (string, error) {
	path, err := os.MkdirTemp(dir, laidPrefix)
	if err != nil {
		return "", fmt.Errorf("make a directory for files: %w", err)
	}
	return path, nil
}

// Clear removes every directory that Laid has created in dir.
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
