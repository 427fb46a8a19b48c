package hostfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Write makes path hold exactly data, with the permission bits of mode; the umask does not apply.
// It writes and syncs a temporary file in the same directory and renames it to path. Horovod
// re-reads its host list every second and mpirun may start at any moment, so no reader may see a
// part. A symbolic link at path is replaced, not followed.
//
// After an error ("write hostfile: ...") path is unchanged and no temporary file is left.
func Write(path string, data []byte, mode fs.FileMode) error {
	err := write(path, data, mode)
	var perr *fs.PathError
	if errors.As(err, &perr) { // the user does not know the temporary file
		err = &fs.PathError{Op: perr.Op, Path: path, Err: perr.Err}
	}
	if err != nil {
		return fmt.Errorf("write hostfile: %w", err)
	}
	return nil
}

func write(path string, data []byte, mode fs.FileMode) error {
	dir := filepath.Dir(path)
	tmp, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	if err := fill(tmp, data, mode); err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return syncDir(dir)
}

func fill(f *os.File, data []byte, mode fs.FileMode) error {
	_, err := f.Write(data)
	if err == nil {
		err = f.Chmod(mode.Perm())
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncDir makes the rename durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
