package archive

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// The name of a run is its prefix, the time of its start in this layout, a hyphen, and its id.
const (
	runPrefix = "run-"
	runTime   = "20060102T150405Z"
)

// emptyTime is how long the index of a run may seem to be empty. Another machine sees what is written to a shared
// file system up to half a minute later.
const emptyTime = time.Minute

// oldLedger is the file in which releases before the index listed what they made in a directory.
const oldLedger = ".agent-run"

// earlier is an earlier run whose files are in a directory.
type earlier struct {
	name  string      // of the directory for it; "": there is no such run
	files []string    // the index, or what stands for it, is the last one
	index os.FileInfo // of that file
}

// setAside moves the files of an earlier run in dir into a directory below it. The index moves last, so that the next
// run completes a move that was cut short. On a file system without locks, another run may begin in dir meanwhile.
// Then it repeats the move.
func setAside(dir string) error {
	release, err := lockEarlier(dir)
	if err != nil || release == nil {
		return err
	}
	defer release()
	for last := ""; ; {
		e, err := earlierRun(dir)
		if err != nil || e.name == "" {
			return err
		}
		again, err := e.setAside(dir)
		if err == nil && again && e.name == last {
			err = &fs.PathError{Op: "move index to", Path: filepath.Join(dir, e.name), Err: fs.ErrExist}
		}
		if err != nil {
			return fmt.Errorf("keep the output of an earlier run: %w", err)
		}
		if !again {
			return nil
		}
		last = e.name
	}
}

// setAside moves the files of the run. again reports that dir has, or may have, the files of another run now.
func (e earlier) setAside(dir string) (again bool, err error) {
	below := filepath.Join(dir, e.name)
	if err := os.MkdirAll(below, 0o777); err != nil {
		return false, err
	}
	index := filepath.Join(dir, e.files[len(e.files)-1])
	for _, file := range e.files {
		if now, err := os.Stat(index); err != nil || !os.SameFile(e.index, now) {
			return true, nil
		}
		err := move(filepath.Join(dir, file), filepath.Join(below, file))
		switch {
		case errors.Is(err, fs.ErrNotExist): // the user may have removed it
		case errors.Is(err, fs.ErrExist):
			again = file == filepath.Base(index)
		case err != nil:
			return false, err
		}
	}
	if again {
		return true, nil
	}
	return false, moveLate(dir, below)
}

// moveLate moves what a run that still writes has begun between the look at its index and the move of it. From then
// on, such a run opens its files below. It moves nothing if another run has begun in dir.
func moveLate(dir, below string) error {
	now, err := earlierRun(below)
	if err != nil {
		return err
	}
	for _, file := range now.files {
		if _, err := os.Lstat(filepath.Join(dir, IndexName)); err == nil {
			return nil
		}
		err := move(filepath.Join(dir, file), filepath.Join(below, file))
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// move moves a file, and completes a move that was cut short. Unlike a rename, it replaces no other file.
func move(from, to string) error {
	err := os.Link(from, to)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return err
	case errors.Is(err, fs.ErrExist):
		a, errA := os.Lstat(from)
		b, errB := os.Lstat(to)
		if errA != nil || errB != nil || !os.SameFile(a, b) {
			return err
		}
	case err != nil: // a file system without links
		if _, err := os.Lstat(to); err == nil {
			return &fs.PathError{Op: "move to", Path: to, Err: fs.ErrExist}
		}
		return os.Rename(from, to)
	}
	return os.Remove(from)
}

// earlierRun returns the run whose files are in dir.
func earlierRun(dir string) (e earlier, err error) {
	index := filepath.Join(dir, IndexName)
	f, err := os.Open(index)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return earlierLedger(dir)
	case err != nil:
		return e, fmt.Errorf("read output directory: %w", err)
	}
	defer f.Close()
	if e.index, err = f.Stat(); err != nil {
		return e, fmt.Errorf("read output directory: %w", err)
	}
	lines, seen := bufio.NewReader(f), map[string]bool{}
	for n := 0; ; n++ {
		text, err := lines.ReadBytes('\n')
		if len(text) == 0 && err != nil {
			break
		}
		var r record
		broken := json.Unmarshal(text, &r) != nil // the last line, after a crash
		if n == 0 {
			if broken || r.Kind != kindRun {
				return earlier{}, &takenError{index}
			}
			e.name = asideName(r)
		}
		if r.Kind == kindFile && isPlain(r.File) && !seen[r.File] {
			e.files, seen[r.File] = append(e.files, r.File), true
		}
	}
	if e.name == "" { // the index is empty: its run was killed before it wrote anything, or is about to
		if time.Since(e.index.ModTime()) < emptyTime {
			return earlier{}, &busyError{index}
		}
		e.name = runPrefix + time.Now().UTC().Format(runTime) + "-empty"
	}
	e.files = append(e.files, IndexName)
	return e, nil
}

// earlierLedger is earlierRun for a run of an old release.
func earlierLedger(dir string) (e earlier, err error) {
	path := filepath.Join(dir, oldLedger)
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return e, nil
	case err != nil:
		return e, fmt.Errorf("read output directory: %w", err)
	}
	if e.index, err = os.Stat(path); err != nil {
		return e, fmt.Errorf("read output directory: %w", err)
	}
	for file := range strings.Lines(string(text)) {
		if file = strings.TrimSuffix(file, "\n"); isPlain(file) {
			e.files = append(e.files, file)
		}
	}
	e.name = runPrefix + e.index.ModTime().UTC().Format(runTime)
	e.files = append(e.files, oldLedger)
	return e, nil
}

// isPlain reports whether name is a file in the directory itself. An index may have been written by
// someone else.
func isPlain(name string) bool {
	return name != "" && name != "." && name != ".." && name == filepath.Base(name) && !strings.ContainsAny(name, `/\`)
}

// asideName returns the name of the directory for an earlier run, by the first line of its index.
func asideName(r record) string {
	return runPrefix + r.At.UTC().Format(runTime) + "-" + plainName(r.Run)
}

// IsRun reports whether a name is one of a run, as Writer.Name returns it.
func IsRun(name string) bool {
	rest, ours := strings.CutPrefix(name, runPrefix)
	stamp, id, _ := strings.Cut(rest, "-")
	_, err := time.Parse(runTime, stamp)
	return ours && err == nil && id != ""
}

// plainName returns id without characters that a directory's name should not have.
func plainName(id string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' {
			return r
		}
		return '_'
	}, id)
}

// DirOf returns the directory that has an index which was opened in dir. That is the one with that name
// below dir if a later run has begun there, as after a launcher that was taken for dead.
func DirOf(dir string, index *os.File, name string) string {
	own, err := index.Stat()
	if err != nil {
		return dir
	}
	below := filepath.Join(dir, name)
	for _, one := range []string{dir, below} {
		if there, err := os.Stat(filepath.Join(one, IndexName)); err == nil && os.SameFile(own, there) {
			return one
		}
	}
	return dir
}

// Listed returns the name of the run and the names of the files that complete lines of an index list.
// Only the first line of an index has a name.
func Listed(lines []byte) (name string, files []string) {
	for line := range bytes.Lines(lines) {
		var r record
		if json.Unmarshal(line, &r) != nil {
			continue
		}
		switch {
		case r.Kind == kindRun && name == "":
			name = asideName(r)
		case r.Kind == kindFile && isPlain(r.File):
			files = append(files, r.File)
		}
	}
	return name, files
}
