// Package failure is how Muster's programs report what went wrong: an error with its exit code and
// a hint, printed for people in two lines.
//
//	agent: --workers=0: a job has at least one worker
//	hint: --workers=4
//
// It is independent of what failed, and builds on every platform.
package failure

import (
	"errors"
	"fmt"
	"io"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/shortage"
)

// Failure is an error with an exit code and a hint.
type Failure struct {
	Code int    // an exit code of exec/names, or 128+n
	Err  error  // what happened
	Way  string // the hint: what to do about it; may be empty
}

func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Hint returns what to do about the error, or "".
func (f *Failure) Hint() string { return f.Way }

// Usage returns a Failure of the command line (exit code 64).
func Usage(hint, format string, args ...any) *Failure {
	return New(names.ExitUsage, hint, format, args...)
}

// New returns a Failure with any exit code.
func New(code int, hint, format string, args ...any) *Failure {
	return &Failure{Code: code, Err: fmt.Errorf(format, args...), Way: hint}
}

// CodeOf returns the exit code of err: 0 for nil, the code of a Failure, else ExitBug.
func CodeOf(err error) int {
	if err == nil {
		return 0
	}
	var f *Failure
	if errors.As(err, &f) {
		return f.Code
	}
	return names.ExitBug
}

// Complain prints err for people: one line, and a second line with the hint. It writes control
// characters visibly, because an error may contain foreign text.
func Complain(w io.Writer, err error) { ComplainAs(w, "agent", err) }

// ComplainAs is Complain for another program.
func ComplainAs(w io.Writer, program string, err error) {
	if err == nil {
		return
	}
	fmt.Fprintf(w, "%s: %s\n", program, Visible(err.Error()))
	if way := shortage.Way(err); way != "" {
		fmt.Fprintf(w, "hint: %s\n", Visible(way))
	}
}
