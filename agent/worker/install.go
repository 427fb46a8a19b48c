package worker

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Install copies the running binary to dir, under the name agent, and agent-launcher and agent-exporter
// too if they are beside it. It creates dir if necessary. Other users may run the copies, because the containers of
// a pod often have different users. Install returns the paths that it wrote.
func Install(dir string) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find own binary: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make directory: %w", err)
	}
	var written []string
	beside := func(name string) string { return filepath.Join(filepath.Dir(self), name) }
	for _, c := range []struct{ from, name string }{
		{self, "agent"},
		{beside("agent-launcher"), "agent-launcher"},
		{beside("agent-exporter"), "agent-exporter"},
	} {
		to := filepath.Join(dir, c.name)
		err := copyFile(c.from, to)
		if errors.Is(err, fs.ErrNotExist) && c.from != self {
			continue // an image with only the worker's binary
		}
		if err != nil {
			return written, fmt.Errorf("install %s: %w", to, err)
		}
		written = append(written, to)
	}
	return written, nil
}

// copyFile replaces to by a copy of from in one step. A container that starts meanwhile sees the
// old or the new file.
func copyFile(from, to string) (err error) {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	tmp, err := os.CreateTemp(filepath.Dir(to), ".install-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			tmp.Close()
			_ = os.Remove(tmp.Name())
		}
	}()
	if _, err = io.Copy(tmp, src); err != nil {
		return err
	}
	if err = tmp.Chmod(0o755); err != nil {
		return err
	}
	if err = tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), to)
}
