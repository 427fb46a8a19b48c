// Package page writes what a program has found out into a page that people write:
// between two marks, which stay where they are.
package page

import (
	"bytes"
	"fmt"
	"os"
	"slices"
)

// Put replaces what stands in the file at path between the line that begins with
// "<!-- NAME: begin" and "<!-- NAME: end -->". A page without these is an error, and
// stays as it is.
func Put(path, name, body string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	first, last := "<!-- "+name+": begin", "<!-- "+name+": end -->"
	begin, end := bytes.Index(text, []byte(first)), bytes.Index(text, []byte(last))
	if begin < 0 || end < begin {
		return fmt.Errorf("%s has no lines %q and %q", path, first, last)
	}
	head := begin + bytes.IndexByte(text[begin:], '\n') + 1
	return os.WriteFile(path, slices.Concat(text[:head], []byte(body), text[end:]), 0o644)
}
