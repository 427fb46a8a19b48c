package proc

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Newest returns when the newest of the files that match a glob was last written; the zero time if
// there is none. A relative glob is below dir. The error says that a file or its directory could
// not be read, so the result is unknown.
func Newest(dir, glob string) (newest time.Time, err error) {
	if !filepath.IsAbs(glob) {
		glob = filepath.Join(dir, glob)
	}
	found, err := filepath.Glob(glob)
	if err != nil {
		return newest, fmt.Errorf("%s: %w", glob, err)
	}
	for _, path := range found {
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed meanwhile, or a link to nothing
		case err != nil:
			return newest, fmt.Errorf("look up a file: %w", err)
		case info.ModTime().After(newest):
			newest = info.ModTime()
		}
	}
	if newest.IsZero() {
		return newest, readable(glob) // Glob ignores directories that it cannot read
	}
	return newest, nil
}

// readable reports whether the directory of a glob can be read. A missing directory is no error.
func readable(glob string) error {
	dir := filepath.Dir(glob)
	for strings.ContainsAny(dir, `*?[\`) {
		dir = filepath.Dir(dir)
	}
	f, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read a directory: %w", err)
	}
	defer f.Close()
	if _, err := f.ReadDir(1); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read a directory: %w", err)
	}
	return nil
}
