package framework

import (
	"path"
	"slices"
	"strings"
)

// looks are programs that query a machine or clean it up. Their exit codes are answers: that of
// pkill reports whether there was a process to end.
var looks = []string{"true", ":", "test", "[", "[[", "which", "command", "type", "hash", "hostname", "uname", "id", "whoami", "uptime",
	"date", "pwd", "echo", "printf", "ls", "stat", "cat", "head", "tail", "wc", "grep", "readlink", "realpath", "printenv", "ps", "pgrep", "pidof",
	"nvidia-smi", "rocm-smi", "ibstat", "free", "df", "du", "nproc", "lscpu", "getent", "ip", "ifconfig",
	"pkill", "kill", "killall", "rm", "rmdir"}

// settings are shell words that do no work.
var settings = []string{"cd", "export", "set", "unset", "ulimit", "umask", "source", ".", "fi", "done", "}"}

// IsProbe reports whether a shell line for a worker only queries it or cleans it up. Its exit code
// is then an answer, and not the end of the work. horovodrun's search for the network interfaces of
// its hosts is a probe too.
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

// isQuestion reports whether the command asks a program for its version.
func isQuestion(words []string) bool {
	return len(words) == 2 && (words[1] == "--version" || words[1] == "-V")
}

// isTaskService reports whether the command is horovodrun's search for network interfaces.
func isTaskService(words []string) bool {
	at := module(words, 1)
	return isPython(path.Base(words[0])) && at < len(words) && strings.HasPrefix(words[at], "horovod.runner.task_fn")
}
