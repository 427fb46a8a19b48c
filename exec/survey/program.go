//go:build linux

package survey

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/proc"
	"github.com/musterhq/muster/exec/wire"
)

// program looks up a command as a session would, and the interpreter of a script.
func (w Where) program(f *wire.FactsRecord, command string) {
	if command == "" {
		return
	}
	path, err := proc.LookPath(command, w.Env, w.Dir)
	if err != nil {
		f.ProgramError = err.Error()
		return
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(w.Dir, path)
	}
	st, err := os.Stat(path)
	switch {
	case err == nil && st.IsDir():
		f.ProgramError = path + " is a directory"
		return
	case err == nil:
		err = unix.Access(path, unix.X_OK)
	}
	if err != nil {
		f.ProgramError = path + ": " + cause(err)
		return
	}
	f.Program = path
	f.Interpreter = interpreter(path)
	if f.Interpreter == "" {
		return
	}
	if err := unix.Access(f.Interpreter, unix.X_OK); err != nil {
		f.InterpreterError = f.Interpreter + ": " + cause(err)
	}
}

// cause returns the error of the system call alone: the path is known.
func cause(err error) string {
	for {
		inner, ok := err.(interface{ Unwrap() error })
		if !ok {
			return err.Error()
		}
		err = inner.Unwrap()
	}
}

// interpreter returns the program in the first line of a script, as in "#!/usr/bin/python3 -u"; ""
// for other programs.
func interpreter(path string) string {
	text, err := read(path)
	if err != nil || !strings.HasPrefix(text, "#!") {
		return ""
	}
	line, _, _ := strings.Cut(text[2:], "\n")
	if words := strings.Fields(line); len(words) > 0 {
		return printable(words[0])
	}
	return ""
}
