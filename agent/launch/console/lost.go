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

// The names of our own descriptors in messages.
const (
	StandardOutput = "standard output"
	StandardError  = "standard error"
)

// Loss keeps the first of several write errors. It is safe for concurrent use.
type Loss struct {
	mu    sync.Mutex
	first error
}

// Note records err, and reports whether it is the first one.
func (l *Loss) Note(err error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.first != nil {
		return false
	}
	l.first = err
	return true
}

// Err returns the first error, or nil.
func (l *Loss) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first
}

// Unwritable gives a write error its exit code, unless it has one. A pipe that its reader has
// closed gives the code of SIGPIPE.
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

// isTaken reports whether err says that another program wrote the file.
func isTaken(err error) bool {
	var taken *outfile.TakenError
	return errors.As(err, &taken)
}

// Called replaces a descriptor's path in an error by its name in messages: "standard output: no
// space left on device".
func Called(name string, err error) error {
	var perr *fs.PathError
	if errors.As(err, &perr) {
		return fmt.Errorf("%s: %w", name, perr.Err)
	}
	return fmt.Errorf("%s: %w", name, err)
}
