package launch

import (
	"strings"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/names"
)

// Failure is an error of ours with its exit code and a way out.
type Failure = failure.Failure

// usage is a Failure of the command line (64).
func usage(hint, format string, args ...any) *Failure {
	return failure.New(names.ExitUsage, hint, format, args...)
}

// fail is a Failure with any code.
func fail(code int, hint, format string, args ...any) *Failure {
	return failure.New(code, hint, format, args...)
}

// CodeOf is the exit code of err.
func CodeOf(err error) int { return failure.CodeOf(err) }

// oneLine is err's text with its lines put into one: errors.Join has one each.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
