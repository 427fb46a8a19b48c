//go:build linux

package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/musterhq/muster/exec/rundir"
)

const (
	prefix = "events-"
	suffix = ".jsonl"
	oldEnd = ".old"
	// keptRuns is the number of runs that have ended and whose files stay.
	keptRuns = 3
)

// pathOf returns the path of the current segment of a run.
func pathOf(dir, id string) string { return filepath.Join(dir, prefix+id+suffix) }

// oldOf returns the path of the segment before.
func oldOf(path string) string { return path + oldEnd }

// sizeIn returns the size of a segment in dir.
func sizeIn(dir string) int64 {
	if real, err := filepath.EvalSymlinks(dir); err == nil && !slices.Contains(rundir.SpillDirs(dir), real) {
		return smallSegment
	}
	return segment
}

// one is the file of a run.
type one struct {
	path string
	at   time.Time // of its last event
}

// list returns the files in dirs, the newest first.
func list(dirs ...string) (all []one) {
	for _, dir := range dirs {
		paths, _ := filepath.Glob(filepath.Join(dir, prefix+"*"+suffix)) // only a bad pattern is an error
		for _, path := range paths {
			if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && isOurs(info) {
				all = append(all, one{path, info.ModTime()})
			}
		}
	}
	slices.SortFunc(all, func(a, b one) int { return b.at.Compare(a.at) })
	return all
}

// isOurs reports whether our own user wrote the file. Another user may have a directory in /tmp.
func isOurs(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}

// clean removes the files of runs that have ended, except the newest ones.
func clean(dir string) {
	ended := 0
	for _, f := range list(dir) {
		if isLive(f.path) {
			continue
		}
		if ended++; ended >= keptRuns { // one more is about to be written
			_ = os.Remove(f.path) // in our own private directory
			_ = os.Remove(oldOf(f.path))
		}
	}
	orphans, _ := filepath.Glob(filepath.Join(dir, prefix+"*"+suffix+oldEnd)) // only a bad pattern is an error
	for _, path := range orphans {
		_, err := os.Lstat(strings.TrimSuffix(path, oldEnd))
		if errors.Is(err, fs.ErrNotExist) && !isLive(path) { // a run that lives is about to make the other one
			_ = os.Remove(path)
		}
	}
}

// isLive reports whether the run that writes the file has not ended.
func isLive(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// Newest returns the path of the newest file here, or "". A run that has not ended comes first. until
// is when its launcher was last seen alive.
func Newest() (path string, until time.Time) {
	all := list(rundir.Candidates()...)
	if len(all) == 0 {
		return "", until
	}
	if i := slices.IndexFunc(all, func(f one) bool { return isLive(f.path) }); i >= 0 {
		return all[i].path, time.Now()
	}
	return all[0].path, all[0].at
}

// Load returns the events in the file of a run, with those of its old segment.
func Load(path string) ([]byte, error) {
	old, err := os.ReadFile(oldOf(path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read events: %w", err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	if len(old) > 0 && !strings.HasSuffix(string(old[len(old)-1:]), "\n") {
		old = append(old, '\n')
	}
	return append(old, text...), nil
}
