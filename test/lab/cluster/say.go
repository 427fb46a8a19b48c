package main

import (
	"fmt"
	"io"
	"time"
)

// say prints what happens, one line a step: " • ..." while it runs, " ✓ ...  (1.2s)" or " ✗ ..." when it ended.
type say struct {
	out io.Writer
}

// step runs do and prints what it was and how long it took. It returns do's error unchanged.
func (s say) step(what string, do func() error) error {
	fmt.Fprintf(s.out, " • %s\n", what)
	begin := time.Now()
	if err := do(); err != nil {
		fmt.Fprintf(s.out, " ✗ %s  (%s)\n", what, seconds(time.Since(begin)))
		return err
	}
	fmt.Fprintf(s.out, " ✓ %s  (%s)\n", what, seconds(time.Since(begin)))
	return nil
}

// done prints a step that needed no time worth a line of its own.
func (s say) done(format string, args ...any) {
	fmt.Fprintf(s.out, " ✓ %s\n", fmt.Sprintf(format, args...))
}

func seconds(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}
