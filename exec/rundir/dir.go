package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/names"
)

const sharedMemory = "/dev/shm"

// Candidates lists the possible private directories, best first. If $MUSTER_DIR is set, it is the
// only one.
func Candidates() []string {
	if dir := os.Getenv(names.EnvDir); dir != "" {
		return []string{dir}
	}
	own := "muster-" + strconv.Itoa(os.Getuid())
	list := []string{"/run/muster", "/muster/run"}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		list = append(list, filepath.Join(dir, "muster"))
	}
	return append(list,
		filepath.Join(os.TempDir(), own),
		filepath.Join(sharedMemory, own))
}

// Create creates or takes over the first candidate that can be a private directory. The error names
// every candidate and its problem.
func Create() (dir string, err error) {
	var faults []error
	for _, dir := range Candidates() {
		if err := create(dir); err != nil {
			faults = append(faults, err)
			continue
		}
		return dir, nil
	}
	return "", fmt.Errorf("make a private directory: %w", errors.Join(faults...))
}

// SpillDirs lists where output may be spilled to disk: in dir, else in the other temporary
// directories. It never lists shared memory: sockets may be there, but MPI needs the space.
func SpillDirs(dir string) []string {
	var list []string
	for _, d := range []string{dir, os.TempDir()} {
		real, err := filepath.EvalSymlinks(d)
		if err != nil || real == sharedMemory || strings.HasPrefix(real, sharedMemory+"/") {
			continue
		}
		list = append(list, real)
	}
	return list
}

func create(dir string) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("%s: not an absolute path", dir)
	}
	err := os.Mkdir(dir, 0o700)
	if err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	made := err == nil
	p, err := openDir(dir)
	if err != nil {
		return err
	}
	defer p.close()
	if made {
		// A umask may have removed bits from our own directory.
		if err := os.Chmod(p.at("."), 0o700); err != nil {
			return err
		}
	}
	if err := p.check(os.Getuid()); err != nil {
		return err
	}
	// This also detects a read-only file system, where mkdir reports "exists".
	if err := unix.Access(p.at("."), unix.W_OK|unix.X_OK); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return nil
}

func ownerOf(info os.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}
