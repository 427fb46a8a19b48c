package framework

import (
	"path"
	"slices"
	"strings"
)

// looks are programs that ask a machine something, or clean it up. Their exit codes are answers:
// of pkill, that there was nothing to end.
var looks = []string{"true", ":", "test", "[", "[[", "which", "command", "type", "hash", "hostname", "uname", "id", "whoami", "uptime",
	"date", "pwd", "echo", "printf", "ls", "stat", "cat", "head", "tail", "wc", "grep", "readlink", "realpath", "printenv", "ps", "pgrep", "pidof",
	"nvidia-smi", "rocm-smi", "ibstat", "free", "df", "du", "nproc", "lscpu", "getent", "ip", "ifconfig",
	"pkill", "kill", "killall", "rm", "rmdir"}

// settings are words of a shell's own that do no work.
var settings = []string{"cd", "export", "set", "unset", "ulimit", "umask", "source", ".", "fi", "done", "}"}

// IsProbe reports whether a line for a worker's shell only asks for something there, or cleans
// up, so that its exit code is an answer and not the end of work. What Horovod runs to learn the
// network interfaces of its hosts is such a line too.
func IsProbe(line string) bool {
	asks := false
	line = strings.NewReplacer("2>&1", " ", "1>&2", " ", ">&2", " ", "&>", " >").Replace(line)
	for _, words := range shellCommands(line) {
		at := program(words)
		switch {
		case at == len(words), slices.Contains(settings, words[0]):
			continue
		case slices.Contains(looks, words[0]), slices.Contains(looks, path.Base(words[at])), isQuestion(words[at:]), isTaskService(words[at:]):
			asks = true
		default:
			return false
		}
	}
	return asks
}

// isQuestion reports whether a program is asked for its version.
func isQuestion(words []string) bool {
	return len(words) == 2 && (words[1] == "--version" || words[1] == "-V")
}

// isTaskService reports whether horovodrun looks for network interfaces.
func isTaskService(words []string) bool {
	at := module(words, 1)
	return isPython(path.Base(words[0])) && at < len(words) && strings.HasPrefix(words[at], "horovod.runner.task_fn")
}
