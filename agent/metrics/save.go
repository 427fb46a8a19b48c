package metrics

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Save writes entries to path, whole or not at all. Where the directory takes no
// new file, or path is a mount, a link or a device, what is there is written over.
func Save(path string, entries []Entry) error {
	text, err := Encode(entries)
	if err != nil {
		return err
	}
	info, err := os.Lstat(path)
	there := err == nil
	if there && !info.Mode().IsRegular() {
		err = overwrite(path, text) // a rename would put a file in place of /dev/stdout
	} else if err = replace(path, text); there && isBarred(err) {
		err = overwrite(path, text)
	}
	if err != nil {
		return fmt.Errorf("write metrics: %w", err)
	}
	return nil
}

func replace(path string, text []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(text)
	if err == nil {
		err = tmp.Chmod(0o644) // Kubeflow's sidecar has another uid
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

// isBarred: no file may be made beside the one that is there, or put in its place.
func isBarred(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EBUSY)
}

func overwrite(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
