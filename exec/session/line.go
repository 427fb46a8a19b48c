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

// posixShell runs the lines of sessions if it exists.
const posixShell = "/bin/sh"

// commandOf chooses how to run a line: /bin/sh -c, except that a plain MPI daemon start is parsed
// and exec'd directly. Each launch starts a daemon on every worker, so this saves a shell per
// worker. Without /bin/sh, every line must be one that exec/shell understands.
func commandOf(line string, env []string, dir string) (shell.Command, error) {
	c, err := understood(line, env, dir)
	if _, serr := os.Stat(posixShell); serr == nil {
		if err != nil || !startsDaemon(c, env, dir) {
			c = shell.Command{Argv: shellArgv(line)}
		}
		return c, nil
	}
	var refused *shell.Refusal
	if err != nil && !errors.As(err, &refused) { // a Refusal already says that there is no shell
		err = fmt.Errorf("the image has no %s, and %w", posixShell, err)
	}
	return c, err
}

// understood parses a line without a shell. Errors are those of package shell.
func understood(line string, env []string, dir string) (shell.Command, error) {
	prog, err := shell.Parse(line)
	if err != nil {
		return shell.Command{}, err
	}
	return prog.Command(env, dir)
}

// startsDaemon reports whether a command starts an MPI daemon. It returns false if the shell would
// print an error, for example because the program does not exist.
func startsDaemon(c shell.Command, env []string, dir string) bool {
	if len(c.Argv) == 0 || c.Dir != "" || !names.IsMPIDaemon(names.Comm(filepath.Base(c.Argv[0]))) {
		return false
	}
	path, err := proc.LookPath(c.Argv[0], append(append([]string(nil), env...), c.Env...), dir)
	return err == nil && filepath.IsAbs(path) && unix.Access(path, unix.X_OK) == nil
}

// maxWord is less than the limit of execve(2) for one string (MAX_ARG_STRLEN, 32 pages including
// the NUL). The rest is room for the script around the pieces.
const maxWord = 128<<10 - 4<<10

// shellArgv passes the shell a line of any length up to ARG_MAX. Lines of Horovod and DeepSpeed
// with a whole environment can be longer than one word may be. Such a line is passed in pieces that
// the shell joins, because the shell has no such limit. Like any line, it sees no positional
// parameters.
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
