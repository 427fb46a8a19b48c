//go:build linux

package launch

import (
	"errors"

	"github.com/musterhq/muster/agent/names"
	"github.com/musterhq/muster/agent/outfile"
)

// unwritten says that a result of the run could not be written. A run that lost
// something of what it was asked to write does not end with 0.
func (r *runner) unwritten(err error) {
	err = unwritable(err)
	r.voice.Warn("%v", err)
	r.voice.Hint(wayOf(err, ""))
	if r.spoiled == nil {
		r.spoiled = err
	}
}

// unwritable gives an error of writing its exit code, unless it has one.
func unwritable(err error) error {
	var f *Failure
	if errors.As(err, &f) {
		return err
	}
	return fail(names.ExitOutput, outfile.Hint(err), "%w", err)
}

// wayOf is the hint that err carries, or another.
func wayOf(err error, otherwise string) string {
	var hinter interface{ Hint() string }
	if errors.As(err, &hinter) && hinter.Hint() != "" {
		return hinter.Hint()
	}
	return otherwise
}

// isTaken reports whether err is that of a file which somebody else wrote.
func isTaken(err error) bool {
	var taken *outfile.TakenError
	return errors.As(err, &taken)
}
