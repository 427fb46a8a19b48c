package submit

import (
	"cmp"
	"slices"
	"strings"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/framework"
)

// work is the command and what it needs.
type work struct {
	framework string // "" where nobody knows
	launcher  bool
	argv      []string
	perGPU    bool // a worker is to be told how many processes it has: one for each GPU
}

// taggable: the agent starts mpirun itself, and nobody has said how its output is to
// look.
func (w work) taggable() bool {
	own := []string{"--tag-output", "-tag-output", "--timestamp-output", "-timestamp-output", "--output", "-prepend-rank", "-l"}
	return framework.Detect(w.argv) == "mpi" && !slices.ContainsFunc(w.argv, func(word string) bool { return slices.Contains(own, word) })
}

// kinds are the words behind `arena submit`, and the frameworks that they are.
var kinds = map[string]string{
	"mpi": "mpi", "mpijob": "mpi",
	"tf": "tensorflow", "tfjob": "tensorflow", "tensorflow": "tensorflow",
	"pytorch": "torch", "pytorchjob": "torch", "torch": "torch",
	"horovod": "horovod", "horovodjob": "horovod",
	"deepspeed": "deepspeed", "deepspeedjob": "deepspeed",
	"ray": "ray", "rayjob": "ray",
}

// IsKind tells whether a word behind submit says what kind of job it is, as
// Arena's do.
func IsKind(word string) bool { return kinds[word] != "" }

// work finds the framework: by the flag, the kind, the roles, the command; in this
// order.
func (r Request) work() (work, error) {
	argv, words := r.words()
	found := cmp.Or(framework.Detect(words), framework.DetectBelow(framework.Below(words, unread)))
	w := work{argv: argv, framework: cmp.Or(r.Framework, kinds[r.Kind])}
	roles := r.hasRoles()
	switch {
	case w.framework == framework.Auto:
		w.framework = found
	case w.framework != "":
	case roles:
		w.framework = "tensorflow"
	default:
		w.framework = found
	}
	if w.framework == "" && r.Launcher == nil && r.Workers > 1 {
		// agent run starts such a command in the launcher alone, where it may have to
		// be: nobody is to be surprised by the other place.
		return w, failure.Usage("--framework=plain (or torch, tensorflow, jax...) starts it on each worker; --launcher starts it in a launcher alone, as agent run does",
			"%q does not say where it is to run, and there are %d workers", words[0], r.Workers)
	}
	w.launcher = needsLauncher(w.framework, found)
	if r.Launcher != nil {
		if w.launcher && !*r.Launcher {
			return w, failure.Usage("leave --launcher=false away", "%s starts its ranks out of a launcher", cmp.Or(w.framework, found))
		}
		w.launcher = *r.Launcher
	}
	if roles && !slices.Contains([]string{"tensorflow", "paddle", "mxnet", "plain"}, w.framework) {
		return w, failure.Usage("leave them away, or --framework=tensorflow", "--ps, --chief and --evaluator are no roles of %s", w.framework)
	}
	if w.framework == "horovod" && found != "horovod" {
		// Its processes meet at a server that horovodrun runs; mpirun does without.
		if found != "mpi" {
			return w, failure.Usage("-- horovodrun python train.py, or -- mpirun python train.py", "horovod is started by horovodrun or mpirun")
		}
		w.framework = "mpi"
	}
	told := found == "torch" || found == "paddle" // by the environment, wherever it stands
	if found != "" && found != "mpi" && !told && framework.Detect(argv) == "" {
		// The agent gives such a launcher options of its own, and would start a shell.
		return w, failure.Usage("give it as words: -- "+strings.Join(words, " "), "%s in a line for a shell: the agent would not see it", words[0])
	}
	switch w.framework {
	case "torch":
		w.perGPU = true
	case "deepspeed":
		w.perGPU = found == "" // a script, started as torch's are
	case "paddle":
		w.perGPU = found == "paddle"
	}
	return w, nil
}

// unread is for scripts of the job's image, which nobody can read here.
func unread(string) string { return "" }

// hasRoles: there are others beside the workers.
func (r Request) hasRoles() bool { return r.PS > 0 || r.Chief || r.Evaluator }

// needsLauncher: the command starts its ranks on other pods by itself.
func needsLauncher(name, found string) bool {
	switch name {
	case "mpi", "openmpi", "mpich", "intelmpi":
		return true
	case "horovod", "deepspeed":
		return found == name || found == "mpi"
	}
	return false
}

// words gives the command as it is to be run, and as it can be looked at. One word
// with blanks in it is a line, as Arena takes its command: where it needs no shell it
// is taken apart, so that the agent sees the program that it starts.
func (r Request) words() (argv, look []string) {
	if len(r.Command) != 1 || !strings.ContainsAny(r.Command[0], " \t\n;|&") {
		return r.Command, r.Command
	}
	line := strings.TrimSpace(r.Command[0])
	if len(line) > 1 && line[0] == '\'' && strings.Count(line, "'") == 2 && line[len(line)-1] == '\'' {
		line = line[1 : len(line)-1] // Arena's documentation quotes twice
	}
	look = strings.Fields(line)
	for len(look) > 1 && look[0] == "exec" {
		look = look[1:]
	}
	if r.Shell == "" && !strings.ContainsAny(line, "$|&;<>()`\\\"'*?[]{}~#!\n") {
		if isAssignment(look[0]) {
			look = append([]string{"env"}, look...)
		}
		return look, look
	}
	return []string{cmp.Or(r.Shell, "sh"), "-c", line}, launcherIn(line)
}

// launcherIn finds the first command of a shell's line that is a framework's
// launcher; the first of all where none is.
func launcherIn(line string) (words []string) {
	for _, part := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(";&|()\n", r) }) {
		look := strings.Fields(part)
		for len(look) > 1 && (look[0] == "exec" || isAssignment(look[0])) {
			look = look[1:]
		}
		if framework.Detect(look) != "" {
			return look
		}
		if words == nil {
			words = look
		}
	}
	return words
}

func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && !strings.ContainsAny(name, "-/.")
}
