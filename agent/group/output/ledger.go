package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// ledgerName is the file that lists what runs have created in an output directory.
const ledgerName = ".agent-run"

// ledger records which files of a directory runs have created. A later run replaces only those.
type ledger struct {
	dir string

	mu   sync.Mutex
	made map[string]bool // by any run
	here map[string]bool // opened by this run: a process that restarts continues its files
}

// takenError reports an existing file that no run has created.
type takenError struct{ path string }

func (e *takenError) Error() string {
	return e.path + " exists and was not written by an earlier run; not overwriting it"
}

// Hint says what to do about it.
func (e *takenError) Hint() string { return "remove it, or name another directory" }

func openLedger(dir string) (*ledger, error) {
	l := &ledger{dir: dir, made: map[string]bool{}, here: map[string]bool{}}
	text, err := os.ReadFile(filepath.Join(dir, ledgerName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read output directory: %w", err)
	}
	for name := range strings.Lines(string(text)) {
		l.made[strings.TrimSuffix(name, "\n")] = true
	}
	return l, nil
}

// open creates the file of that name, or replaces that of an earlier run. With goOn, or if it was
// opened before, it appends.
func (l *ledger) open(name string, goOn bool) (*os.File, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	path := filepath.Join(l.dir, name)
	if !l.made[name] {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			return nil, &takenError{path}
		}
		if err := l.note(name); err != nil {
			return nil, err
		}
	}
	how := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	if goOn || l.here[name] {
		how = os.O_CREATE | os.O_WRONLY | os.O_APPEND
	}
	l.here[name] = true
	return os.OpenFile(path, how, 0o666)
}

// note adds name to the list, before the file is created.
func (l *ledger) note(name string) error {
	f, err := os.OpenFile(filepath.Join(l.dir, ledgerName), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteString(name + "\n")
	l.made[name] = true
	return errors.Join(err, f.Close())
}
