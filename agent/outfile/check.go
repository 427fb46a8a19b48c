package outfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// mostRead is how many bytes of a file Check reads. A larger file is not ours.
const mostRead = 64 << 20

// TakenError reports a file that Muster did not write.
type TakenError struct{ Path string }

func (e *TakenError) Error() string {
	return e.Path + " exists and was not written by an earlier run; not overwriting it"
}

// Hint returns what to do about err, an error of Check or Write.
func Hint(err error) string {
	var taken *TakenError
	if errors.As(err, &taken) {
		return "remove it, or name another file"
	}
	return "name a file in an existing directory that is writable"
}

// Check returns the reason why path cannot be written, or nil. ours reports whether a file with
// that content may be replaced. Errors: *TakenError, and those of the file system.
func Check(path string, ours func(text []byte) bool) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return directory(path)
	case err != nil:
		return err
	case info.IsDir():
		return &fs.PathError{Op: "write", Path: path, Err: errors.New("is a directory")}
	case !info.Mode().IsRegular() || info.Size() == 0:
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostRead+1))
	switch {
	case err != nil:
		return err
	case len(text) > mostRead || !ours(text):
		return &TakenError{Path: path}
	}
	return nil
}

// directory checks that the directory of path exists, so that path can be created.
func directory(path string) error {
	info, err := os.Stat(filepath.Dir(path))
	switch {
	case err != nil:
		return named(path, err)
	case !info.IsDir():
		return &fs.PathError{Op: "write", Path: path, Err: fmt.Errorf("%s is not a directory", filepath.Dir(path))}
	}
	return nil
}
