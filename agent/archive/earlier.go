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

// oldLedger is the file in which releases before the index listed what they made in a directory.
const oldLedger = ".agent-run"

// setAside moves the files of an earlier run in dir into a directory below it. The index moves last,
// so that the next run completes a move that was cut short.
func setAside(dir string) error {
	name, files, err := earlierRun(dir)
	if err != nil || name == "" {
		return err
	}
	below := filepath.Join(dir, name)
	if err := os.MkdirAll(below, 0o777); err != nil {
		return fmt.Errorf("keep the output of an earlier run: %w", err)
	}
	for _, file := range files {
		err := os.Rename(filepath.Join(dir, file), filepath.Join(below, file))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // the user may have removed it
			return fmt.Errorf("keep the output of an earlier run: %w", err)
		}
	}
	return nil
}

// earlierRun returns the directory for the run whose files are in dir, and their names; "" if there is
// no such run.
func earlierRun(dir string) (name string, files []string, err error) {
	index := filepath.Join(dir, IndexName)
	f, err := os.Open(index)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return earlierLedger(dir)
	case err != nil:
		return "", nil, fmt.Errorf("read output directory: %w", err)
	}
	defer f.Close()
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
				return "", nil, &takenError{index}
			}
			name = asideName(r)
		}
		if r.Kind == kindFile && isPlain(r.File) && !seen[r.File] {
			files, seen[r.File] = append(files, r.File), true
		}
	}
	if name == "" { // the index is empty: its run was killed before it wrote anything
		return runPrefix + time.Now().UTC().Format(runTime) + "-empty", []string{IndexName}, nil
	}
	return name, append(files, IndexName), nil
}

// earlierLedger is earlierRun for a run of an old release.
func earlierLedger(dir string) (name string, files []string, err error) {
	path := filepath.Join(dir, oldLedger)
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil, nil
	case err != nil:
		return "", nil, fmt.Errorf("read output directory: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", nil, fmt.Errorf("read output directory: %w", err)
	}
	for file := range strings.Lines(string(text)) {
		if file = strings.TrimSuffix(file, "\n"); isPlain(file) {
			files = append(files, file)
		}
	}
	return runPrefix + info.ModTime().UTC().Format(runTime), append(files, oldLedger), nil
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
