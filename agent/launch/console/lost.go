package console

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"syscall"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/outfile"
	"github.com/musterhq/muster/exec/names"
)

// What people call our own descriptors.
const (
	StandardOutput = "standard output"
	StandardError  = "standard error"
)

// Loss keeps the first of several errors of writing. It may be used by several
// goroutines.
type Loss struct {
	mu    sync.Mutex
	first error
}

// Note reports whether err is the first one.
func (l *Loss) Note(err error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.first != nil {
		return false
	}
	l.first = err
	return true
}

// Err is the first error; nil: there was none.
func (l *Loss) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first
}

// Unwritable gives an error of writing its exit code, unless it has one: that of
// SIGPIPE for a pipe that its reader has closed.
func Unwritable(err error) error {
	var f *failure.Failure
	switch {
	case errors.As(err, &f):
		return err
	case errors.Is(err, syscall.EPIPE):
		return failure.New(128+int(syscall.SIGPIPE), "", "%w", err)
	case isTaken(err):
		return failure.New(names.ExitOutput, outfile.Hint(err), "%w", err)
	}
	return failure.New(names.ExitOutput, "", "%w", err)
}

// isTaken reports whether err is that of a file which somebody else wrote.
func isTaken(err error) bool {
	var taken *outfile.TakenError
	return errors.As(err, &taken)
}

// Called puts the name that people know in the place of a descriptor's path:
// "standard output: no space left on device".
func Called(name string, err error) error {
	var perr *fs.PathError
	if errors.As(err, &perr) {
		return fmt.Errorf("%s: %w", name, perr.Err)
	}
	return fmt.Errorf("%s: %w", name, err)
}
