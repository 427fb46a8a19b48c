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
	"strings"

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

// Nearest returns the word that is most similar to typed, with at most two typing errors, or "". Of
// equally similar words it returns the first.
func Nearest(typed string, words []string) string {
	best, least := "", 3
	for _, word := range words {
		if n := slips(typed, word); n < least && n < len(word) {
			best, least = word, n
		}
	}
	return best
}

// slips counts the letters that were left out, added, mistyped or swapped with the next one
// (optimal string alignment).
func slips(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range b {
		d[0][j+1] = j + 1
	}
	for i := range len(a) {
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			n := min(d[i][j+1]+1, d[i+1][j]+1, d[i][j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				n = min(n, d[i-1][j-1]+1)
			}
			d[i+1][j+1] = n
		}
	}
	return d[len(a)][len(b)]
}
