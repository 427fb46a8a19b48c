package kubeflow

import (
	"path"
	"slices"
	"strings"

	"github.com/musterhq/muster/agent/lazyregexp"
	"github.com/musterhq/muster/exec/names"
)

// toWorker replaces the command with which a worker's script waits.
const toWorker = "exec " + names.AgentPath + " worker"

// waiting reports whether a command only waits for mpirun, like sshd or sleep. before is what to
// run in its place. It is nil if agent worker alone is enough, else a script that makes the same
// preparations and finally becomes agent worker.
func waiting(words []string) (before []string, ok bool) {
	at := scriptAt(words)
	if at < 0 {
		return nil, isSSHD(words) || isIdle(words)
	}
	all, ok := statements(words[at])
	if !ok {
		return nil, false
	}
	script, ok := replaced(words[at], all)
	switch {
	case !ok:
		return nil, false
	case strings.TrimRight(strings.TrimSpace(script), "; \n") == toWorker:
		return nil, true
	}
	before = slices.Clone(words)
	before[at] = script
	return before, true
}

var shells = []string{"sh", "bash", "dash", "ash", "ksh", "zsh"}

// commandFlag matches -c, alone or with other letters, as in bash -lc.
var commandFlag = lazyregexp.New(`^-[a-zA-Z]*c$`)

// scriptAt returns the index of the script in `sh -c SCRIPT`, or -1.
func scriptAt(words []string) int {
	bare := unwrapped(words)
	skip := len(words) - len(bare)
	if len(bare) < 3 || !slices.Contains(shells, path.Base(bare[0])) {
		return -1
	}
	for i := 1; i+1 < len(bare); i++ {
		switch {
		case commandFlag().MatchString(bare[i]):
			return skip + i + 1
		case bare[i] == "-o" || bare[i] == "+o": // its value follows
			i++
		case !strings.HasPrefix(bare[i], "-"):
			return -1
		}
	}
	return -1
}

// assignment matches an assignment before a command, as in LANG=C sshd.
var assignment = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*=`)

// unwrapped removes the words that only start the others.
func unwrapped(words []string) []string {
	for len(words) > 1 {
		switch word := words[0]; {
		case assignment().MatchString(word), slices.Contains([]string{"exec", "command", "nohup", "sudo", "env", "tini", "dumb-init"}, path.Base(word)):
			words = words[1:]
			for len(words) > 1 && (words[0] == "--" || slices.Contains([]string{"-g", "-s", "-n", "-E"}, words[0])) {
				words = words[1:]
			}
		default:
			return words
		}
	}
	return words
}

func isSSHD(words []string) bool {
	words = unwrapped(words)
	return len(words) > 0 && path.Base(words[0]) == "sshd"
}

// stays reports whether sshd stays in the foreground.
func stays(words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool {
		return strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--") && strings.Contains(word, "D") && !strings.HasPrefix(word, "-o")
	})
}

// isIdle reports whether a command keeps a pod alive and does nothing.
func isIdle(words []string) bool {
	words = unwrapped(words)
	switch {
	case len(words) == 0:
		return false
	case path.Base(words[0]) == "sleep":
		return len(words) > 1
	case path.Base(words[0]) == "tail":
		return words[len(words)-1] == "/dev/null"
	}
	return words[0] == "wait"
}

// idleLoop matches while true; do sleep 1; done.
var idleLoop = lazyregexp.New(`^while\s+(true|:|\[ 1 \]|\[ : \]);?\s*do\s+(sleep\s+\S+|:|wait)\s*;?\s*done$`)

// replaced returns the script with agent worker in place of its waiting command. ok is false if
// that command is not clearly its end.
func replaced(script string, all []statement) (_ string, ok bool) {
	last := slices.IndexFunc(all, func(s statement) bool { return isSSHD(s.words) && stays(s.words) && s.op != "&" })
	if last < 0 {
		if last = len(all) - 1; last < 0 || !waits(script, all[last]) {
			return "", false
		}
	}
	var b strings.Builder
	from := 0
	put := func(s statement, text string) {
		old := script[s.start:s.end]
		lead := len(old) - len(strings.TrimLeft(old, " \t\n"))
		b.WriteString(script[from:s.start+lead] + text)
		from = s.start + len(strings.TrimRight(old, " \t\n"))
	}
	for i, s := range all[:last+1] {
		switch {
		case i == last:
			put(s, toWorker)
			if s.op == "&" {
				from = s.end + 1
			}
		case isSSHD(s.words) && s.op == "||":
			return "", false
		case isSSHD(s.words): // it went into the background
			put(s, "true")
		}
	}
	return b.String() + script[from:], true
}

func waits(script string, s statement) bool {
	return isSSHD(s.words) || isIdle(s.words) || idleLoop().MatchString(strings.Join(strings.Fields(script[s.start:s.end]), " "))
}
