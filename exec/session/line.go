//go:build linux

package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/proc"
	"github.com/musterhq/muster/exec/shell"
)

// posixShell runs the lines of sessions where it is there.
const posixShell = "/bin/sh"

// commandOf says what runs a line: the shell, but nothing stands between us and an MPI
// daemon whose line we understand ourselves: each launch starts one on every worker, and a
// shell is a program more to start there. Without a shell here every line must be one that
// we understand.
func commandOf(line string, env []string, dir string) (shell.Command, error) {
	c, err := understood(line, env, dir)
	if _, serr := os.Stat(posixShell); serr == nil {
		if err != nil || !startsDaemon(c, env, dir) {
			c = shell.Command{Argv: shellArgv(line)}
		}
		return c, nil
	}
	var refused *shell.Refusal
	if err != nil && !errors.As(err, &refused) { // a refusal says itself that there is no shell
		err = fmt.Errorf("there is no %s here, and %w", posixShell, err)
	}
	return c, err
}

// understood takes a line apart without a shell; errors are those of the package shell.
func understood(line string, env []string, dir string) (shell.Command, error) {
	prog, err := shell.Parse(line)
	if err != nil {
		return shell.Command{}, err
	}
	return prog.Command(env, dir)
}

// startsDaemon is false where the shell has something to say, that there is no such
// program for one.
func startsDaemon(c shell.Command, env []string, dir string) bool {
	if len(c.Argv) == 0 || c.Dir != "" || !names.IsMPIDaemon(names.Comm(filepath.Base(c.Argv[0]))) {
		return false
	}
	path, err := proc.LookPath(c.Argv[0], append(append([]string(nil), env...), c.Env...), dir)
	return err == nil && filepath.IsAbs(path) && unix.Access(path, unix.X_OK) == nil
}

// maxWord is less than what execve(2) takes in one string (MAX_ARG_STRLEN, 32
// pages, its NUL counted), and is room for the script around the pieces.
const maxWord = 128<<10 - 4<<10

// shellArgv gives the shell a line of any length up to ARG_MAX. One that is
// longer than a word may be, as Horovod's and DeepSpeed's with a whole environment
// can be, goes in pieces and is put together by the shell, which has no such limit;
// it finds no positional parameters, as any line.
func shellArgv(line string) []string {
	if len(line) <= maxWord {
		return []string{posixShell, "-c", line}
	}
	argv := []string{posixShell, "-c", "", posixShell}
	var script strings.Builder
	script.WriteString("eval \"set --\n")
	for n := 1; line != ""; n++ {
		piece := line[:min(len(line), maxWord)]
		line = line[len(piece):]
		argv = append(argv, piece)
		script.WriteString("${" + strconv.Itoa(n) + "}")
	}
	argv[2] = script.String() + `"`
	return argv
}
