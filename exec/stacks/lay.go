package stacks

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Signal makes a Python rank write its stacks. It is SIGRTMAX-5, because libraries use the lowest
// real-time signals: glibc and musl 32 to 34, .NET 34, garbage collectors and profilers the next
// ones. Valgrind uses the last one. The JVM, Go and CUDA use none.
const Signal = syscall.Signal(59)

// ReturnSignal makes the first thread write a line as soon as it runs Python, which means that its
// C code has returned. It is sent only to ranks that seem to wait in MPI.
const ReturnSignal = syscall.Signal(58)

//go:embed sitecustomize.py
var module []byte

// Lay writes the module into dir, which must be first in PYTHONPATH.
func Lay(dir string) error {
	if err := os.WriteFile(filepath.Join(dir, "sitecustomize.py"), module, 0o600); err != nil {
		return fmt.Errorf("lay the module that takes stacks: %w", err)
	}
	return nil
}
