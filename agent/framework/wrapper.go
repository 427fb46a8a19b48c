package framework

import (
	"path"
	"slices"
	"strings"
)

// wrappers run the program that their last words name, by exec or as a child.
var wrappers = []string{"env", "timeout", "nice", "ionice", "chrt", "taskset", "numactl", "nohup", "setsid", "stdbuf", "time",
	"exec", "command", "setpriv", "catchsegv", "tini", "dumb-init"}

// environments run a program in a Python environment, after the word `run`.
var environments = []string{"uv", "poetry", "pipenv", "pdm", "rye", "conda", "mamba", "micromamba"}

// operand reports whether a word is an argument that wrappers take besides options and assignments.
// Such a word is a time, a mask, a list of CPUs or nodes, a signal or a numeric user.
func operand(word string) bool {
	if word == "all" {
		return true
	}
	upper := strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+") == ""
	number := word != "" && word[0] >= '0' && word[0] <= '9' && strings.Trim(word, "0123456789abcdefx.,:+-smhKMG") == ""
	return upper || number
}

// program returns the index of the command's own name, after wrappers such as `env A=1` and
// `timeout 10m`, or len(argv) if there is none. If the program of a wrapper is unclear, the wrapper
// counts as the command.
func program(argv []string) int {
	at := 0
	for at < len(argv) {
		inner := wrapped(argv[at:])
		if inner == 0 {
			break
		}
		at += inner
	}
	return at
}

// wrapped returns the index of the program that a wrapper runs, or 0 if argv is no wrapper or the
// program is unclear.
func wrapped(argv []string) int {
	name := path.Base(argv[0])
	if slices.Contains(environments, name) {
		return inEnvironment(argv)
	}
	if !slices.Contains(wrappers, name) {
		return 0
	}
	for i, word := range argv[1:] {
		switch {
		case word == "--":
			return min(i+2, len(argv))
		case strings.HasPrefix(word, "-"), isAssignment(word), operand(word):
		case i > 0 && slices.Contains([]string{"-u", "-C", "-s"}, argv[i]) && !known(word):
		default:
			return i + 1
		}
	}
	if name == "env" {
		return len(argv)
	}
	return 0
}

// inEnvironment is wrapped for `uv run` and similar commands.
func inEnvironment(argv []string) int {
	if len(argv) < 3 || argv[1] != "run" {
		return 0
	}
	for i := 2; i < len(argv); i++ {
		switch word := argv[i]; {
		case slices.Contains([]string{"-n", "-p", "--name", "--prefix", "--python", "--with", "--extra", "--group"}, word):
			i++
		case strings.HasPrefix(word, "-"):
		default:
			return i
		}
	}
	return 0
}

// known reports whether a word is the name of a launcher, of Python or of a wrapper.
func known(word string) bool {
	name := path.Base(word)
	return ofProgram(name).framework != "" || isPython(name) || slices.Contains(wrappers, name)
}

func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && !strings.ContainsAny(name, "-/.")
}
