package submit

import (
	"cmp"
	"slices"
	"strings"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/framework"
)

// work is the command, and what it needs.
type work struct {
	framework string // "" if not known
	launcher  bool
	argv      []string
	perGPU    bool // a worker must be told its number of processes: one for each GPU
}

// taggable reports whether the agent starts mpirun itself, and no option sets the format of its
// output.
func (w work) taggable() bool {
	own := []string{"--tag-output", "-tag-output", "--timestamp-output", "-timestamp-output", "--output", "-prepend-rank", "-l"}
	return framework.Detect(w.argv) == "mpi" && !slices.ContainsFunc(w.argv, func(word string) bool { return slices.Contains(own, word) })
}

// kinds maps the words after `arena submit` to frameworks.
var kinds = map[string]string{
	"mpi": "mpi", "mpijob": "mpi",
	"tf": "tensorflow", "tfjob": "tensorflow", "tensorflow": "tensorflow",
	"pytorch": "torch", "pytorchjob": "torch", "torch": "torch",
	"horovod": "horovod", "horovodjob": "horovod",
	"deepspeed": "deepspeed", "deepspeedjob": "deepspeed",
	"ray": "ray", "rayjob": "ray",
}

// IsKind reports whether a word after submit is a kind of job, as in Arena.
func IsKind(word string) bool { return kinds[word] != "" }

// work finds the framework: by the flag, the kind, the roles, or the command, in this order.
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
		// agent run starts such a command in the launcher only, and it may have to run there.
		// Starting it in another place would surprise the user.
		return w, failure.Usage("--framework=plain (or torch, tensorflow, jax...) starts it on each worker; --launcher starts it only in a launcher, as agent run does",
			"cannot tell where to run %q: in the launcher, or on each of the %d workers", words[0], r.Workers)
	}
	w.launcher = needsLauncher(w.framework, found)
	if r.Launcher != nil {
		if w.launcher && !*r.Launcher {
			return w, failure.Usage("omit --launcher=false", "--launcher=false: %s starts its ranks from a launcher", cmp.Or(w.framework, found))
		}
		w.launcher = *r.Launcher
	}
	if roles && !slices.Contains([]string{"tensorflow", "paddle", "mxnet", "plain"}, w.framework) {
		return w, failure.Usage("omit them, or use --framework=tensorflow", "--ps, --chief and --evaluator are not roles of %s", w.framework)
	}
	if w.framework == "horovod" && found != "horovod" {
		// Its processes meet at a server that horovodrun runs. mpirun needs none.
		if found != "mpi" {
			return w, failure.Usage("-- horovodrun python train.py, or -- mpirun python train.py", "a horovod job requires a horovodrun or mpirun command")
		}
		w.framework = "mpi"
	}
	told := found == "torch" || found == "paddle" // the environment tells it everything, wherever it is in the script
	if found != "" && found != "mpi" && !told && framework.Detect(argv) == "" {
		// The agent adds options to such a launcher, but would start a shell here.
		return w, failure.Usage("write it as separate words: -- "+strings.Join(words, " "), "%s in a shell command: the agent cannot detect it", words[0])
	}
	switch w.framework {
	case "torch":
		w.perGPU = true
	case "deepspeed":
		w.perGPU = found == "" // a script, started like torch's
	case "paddle":
		w.perGPU = found == "paddle"
	}
	return w, nil
}

// unread stands for scripts in the job's image, which cannot be read here.
func unread(string) string { return "" }

// hasRoles reports whether there are roles besides the workers.
func (r Request) hasRoles() bool { return r.PS > 0 || r.Chief || r.Evaluator }

// needsLauncher reports whether the command starts its ranks on other pods itself.
func needsLauncher(name, found string) bool {
	switch name {
	case "mpi", "openmpi", "mpich", "intelmpi":
		return true
	case "horovod", "deepspeed":
		return found == name || found == "mpi"
	}
	return false
}

// words returns the command to run, and the words by which to recognize it. A single word with
// blanks is a command line, as in Arena. It is split if it needs no shell, so that the agent sees
// the program that it starts.
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

// launcherIn returns the first command of a shell line that is a framework's launcher, or else the
// first command.
func launcherIn(line string) (words []string) {
	for _, part := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(";&|()\n", r) }) {
		look := strings.Fields(part)
		for len(look) > 1 && (look[0] == "exec" || isAssignment(look[0])) {
			look = look[1:]
		}
		if framework.Detect(look) != "" {
			return look
		}
		if len(words) == 0 {
			words = look // empty between two operators, as in ( (
		}
	}
	if len(words) == 0 {
		return strings.Fields(line)
	}
	return words
}

func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && !strings.ContainsAny(name, "-/.")
}
