package rundir

import (
	"os"
	"path/filepath"
)

// addressFile is in the directory of a worker that launchers reach by network.
const addressFile = "network.addr"

// SetAddress records in dir (a worker's) the host and port at which the worker accepts launchers;
// Address reads it. The worker's socket may exist before.
func SetAddress(dir, hostPort string) error {
	return replace(filepath.Join(dir, addressFile), hostPort)
}

// Address returns what SetAddress has recorded in dir. The error is fs.ErrNotExist until then.
func Address(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, addressFile))
	return string(text), err
}

// replace writes a file whole, so that a reader never finds a part of it.
func replace(path, text string) error {
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
