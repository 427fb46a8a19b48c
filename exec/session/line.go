//go:build linux

package session

import (
	"strconv"
	"strings"
)

// posixShell runs the lines of sessions where it is there.
const posixShell = "/bin/sh"

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
