//go:build linux

package proc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/reap"
)

// Start starts a process and adds it to tree as its first process. Errors are those of
// reap.Reaper.Start.
func Start(r *reap.Reaper, tree *reap.Tree, spec reap.Spec) (*reap.Process, error) {
	p, err := r.Start(spec)
	if err != nil {
		return nil, err
	}
	tree.Add(p)
	return p, nil
}

// LookPath returns the path of the program that execvp(3) would run in a process with env and dir.
// It searches the PATH of env, whose relative entries start at dir. It returns a name with a slash
// unchanged. The error wraps ENOENT if there is no such program, or the reason why the program
// cannot be run.
func LookPath(name string, env []string, dir string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	path := "/usr/local/bin:/usr/bin:/bin"
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = v
		}
	}
	var denied error
	for _, d := range filepath.SplitList(path) {
		if d == "" {
			d = "."
		}
		if !filepath.IsAbs(d) {
			d = filepath.Join(dir, d)
		}
		p := filepath.Join(d, name)
		st, err := os.Stat(p)
		if err != nil || st.IsDir() {
			continue
		}
		if err := unix.Access(p, unix.X_OK); err != nil {
			denied = fmt.Errorf("start %s: %w", p, err)
			continue
		}
		return p, nil
	}
	if denied != nil {
		return "", denied
	}
	return "", fmt.Errorf("start %s: %w in PATH %s", name, syscall.ENOENT, path)
}

// LookOwnPath returns the path of a program in the PATH of this process. A relative name with a
// slash starts at dir, if dir is not empty. The error wraps exec.ErrNotFound if there is no program
// that can be run.
func LookOwnPath(name, dir string) (string, error) {
	if strings.Contains(name, "/") {
		if dir != "" && !filepath.IsAbs(name) {
			return filepath.Join(dir, name), nil
		}
		return name, nil
	}
	path, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrDot) {
		err = nil // PATH names the working directory, which is the user's choice
	}
	if err != nil {
		return "", fmt.Errorf("start %s: %w", name, err)
	}
	return path, nil
}
