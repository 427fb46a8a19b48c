package outfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Write calls Check and then makes path hold text, completely or not at all. If the directory
// accepts no new file, or if path is a mount, a link or a device, Write overwrites the file itself.
// Errors name path: *TakenError, *fs.PathError.
func Write(path string, text []byte, ours func(text []byte) bool) error {
	if err := Check(path, ours); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	there := err == nil
	if there && !info.Mode().IsRegular() {
		err = overwrite(path, text) // a rename would replace /dev/stdout by a file
	} else if err = replace(path, text); there && isBarred(err) {
		err = overwrite(path, text)
	}
	return named(path, err)
}

// named replaces the path of a temporary file in an error by path.
func named(path string, err error) error {
	var perr *fs.PathError
	if errors.As(err, &perr) {
		return &fs.PathError{Op: "write", Path: path, Err: perr.Err}
	}
	return err
}

func replace(path string, text []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(text)
	if err == nil {
		err = tmp.Chmod(0o644) // a sidecar that reads it may have another uid
	}
	err = errors.Join(err, tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return nil
}

// isBarred reports whether the error means that no file can be created beside the existing one, or
// take its place.
func isBarred(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EBUSY)
}

func overwrite(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
