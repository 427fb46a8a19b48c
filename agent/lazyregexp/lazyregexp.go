// Package lazyregexp compiles regular expressions at their first use.
//
// A regular expression of a package costs time and memory in each process that links the package. Most
// processes, such as a launcher that waits, use none of those for stacks and old manifests. The name is
// that of a package within the Go tools.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a function that returns the regular expression. It panics at its first call if expr is
// wrong, like [regexp.MustCompile].
func New(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
