package launch

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/musterhq/muster/agent/names"
)

// Failure is an error of ours with its exit code and a way out.
type Failure struct {
	Code int    // an exit code of agent/names, or 128+n
	Err  error  // what happened
	Way  string // what to do about it; may be empty
}

func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap gives the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Hint is the way out, or "".
func (f *Failure) Hint() string { return f.Way }

// usage is a Failure of the command line (64).
func usage(hint, format string, args ...any) *Failure {
	return &Failure{Code: names.ExitUsage, Err: fmt.Errorf(format, args...), Way: hint}
}

// fail is a Failure with any code.
func fail(code int, hint, format string, args ...any) *Failure {
	return &Failure{Code: code, Err: fmt.Errorf(format, args...), Way: hint}
}

// CodeOf is the exit code of err: 0 for nil, a Failure's own, else ExitBug.
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

// oneLine is err's text with its lines put into one: errors.Join has one each.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// Complain prints err for people: one line, and a second one with the hint.
func Complain(w io.Writer, err error) {
	if err == nil {
		return
	}
	fmt.Fprintf(w, "agent: %v\n", err)
	var hinter interface{ Hint() string }
	if errors.As(err, &hinter) && hinter.Hint() != "" {
		fmt.Fprintf(w, "hint: %s\n", hinter.Hint())
	}
}
