package framework

import (
	"path"
	"slices"
	"strings"
)

// Below returns the words of the launcher that a script starts. The script is the text of `bash
// -c`, or a shell, Python or make file. read returns the text of a file, or "" if the file cannot
// be read. Below returns nil if it finds no launcher, or if the command is a launcher itself. It also
// returns nil if the script starts mpirun, because such a script has to run in the launcher.
//
// Below reads only the text, so it does not find a launcher in a variable or in a program.
func Below(argv []string, read func(path string) string) []string {
	if recognise(argv).framework != "" {
		return nil
	}
	at := program(argv)
	if at == len(argv) {
		return nil
	}
	name, words := path.Base(argv[at]), argv[at+1:]
	switch {
	case isShell(name):
		return firstLauncher(shellText(words, read), shellCommands)
	case name == "make" || name == "gmake":
		return firstLauncher(recipes(words, read), shellCommands)
	case isPython(name) || strings.HasSuffix(name, ".py"):
		file, text := Script(argv)
		if file != "" {
			text = read(file)
		}
		return firstLauncher(text, pythonCommands)
	}
	text := read(argv[at])
	if line, _, _ := strings.Cut(text, "\n"); strings.HasPrefix(line, "#!") {
		if strings.Contains(line, "python") {
			return firstLauncher(text, pythonCommands)
		}
		return firstLauncher(text, shellCommands)
	}
	return nil
}

// DetectBelow returns the framework of a launcher that [Below] found, if environment variables are
// enough to configure that launcher: "torch" or "paddle", else "".
func DetectBelow(words []string) string {
	if cmd := ofBelow(words); cmd.launcher != "" {
		return cmd.framework
	}
	return ""
}

// AloneBelow reports whether [Below] found a launcher (deepspeed or horovodrun) that reaches other
// workers only if its options name them, and these options are missing.
func AloneBelow(words []string) bool {
	switch ofBelow(words).framework {
	case "deepspeed", "horovod":
		return !has(words, "-H", "--hostfile", "-hostfile", "--hosts", "--host-discovery-script")
	}
	return false
}

// LauncherIn returns the name of the launcher that runs in a process with these arguments, or "".
// It knows launchers that start ranks on their own machine unless they are told of others.
func LauncherIn(argv []string) string {
	cmd := recognise(withoutInterpreter(argv))
	switch {
	case cmd.launcher != "":
		return cmd.launcher
	case cmd.framework == "deepspeed", cmd.framework == "horovod":
		return cmd.framework
	}
	return ""
}

// ofBelow recognizes a launcher that [Below] found.
func ofBelow(words []string) command {
	if len(words) == 0 {
		return command{}
	}
	return recognise(words)
}

// firstLauncher returns the first launcher among the commands of a text, or nil if any of them is
// an MPI launcher.
func firstLauncher(text string, commands func(string) [][]string) (first []string) {
	for _, words := range commands(text) {
		switch recognise(words).framework {
		case "":
		case "mpi":
			return nil
		default:
			if first == nil {
				first = words[program(words):]
			}
		}
	}
	return first
}

func isShell(name string) bool {
	return slices.Contains([]string{"sh", "bash", "dash", "ash", "ksh", "zsh"}, name)
}

// shellText returns the text that a shell with these words runs.
func shellText(words []string, read func(string) string) string {
	for i := 0; i < len(words); i++ {
		switch word := words[i]; {
		case word == "--rcfile" || word == "--init-file":
			i++
		case strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--") && strings.Contains(word, "c"):
			if i+1 < len(words) {
				return words[i+1]
			}
		case !strings.HasPrefix(word, "--") && strings.ContainsAny(word[:min(1, len(word))], "-+") && strings.ContainsAny(word, "oO"):
			i++
		case strings.HasPrefix(word, "-") || strings.HasPrefix(word, "+"):
		default:
			return read(word)
		}
	}
	return ""
}

// keywords are shell words that may precede a command.
var keywords = []string{"if", "then", "elif", "else", "while", "until", "do", "!", "{", "eval"}

// separator reports whether r ends a shell command.
func separator(r rune) bool { return strings.ContainsRune(";&|()`\n", r) }

// shellCommands lists the commands in a shell text, including those of nested `bash -c`, as words
// without quotes.
func shellCommands(text string) (all [][]string) {
	text = strings.ReplaceAll(text, "\\\n", " ")
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, " #")
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		for _, part := range strings.FieldsFunc(line, separator) {
			words := strings.Fields(strings.NewReplacer(`"`, "", `'`, "").Replace(part))
			for len(words) > 0 && (slices.Contains(keywords, words[0]) || isAssignment(words[0])) {
				words = words[1:]
			}
			if at := program(words); at < len(words) && isShell(path.Base(words[at])) && slices.Contains(words, "-c") {
				words = words[slices.Index(words, "-c")+1:]
			}
			if len(words) > 0 {
				all = append(all, words)
			}
		}
	}
	return all
}

// launchers are the launcher names and modules to look for in a list of words in a Python script.
var launchers = []string{"torchrun", "accelerate", "accelerate-launch", "deepspeed", "horovodrun", "mpirun", "mpiexec",
	"torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch", "paddle.distributed.launch"}

// callers are the ends of function names in Python calls that run a shell line.
var callers = []string{"system(", "run(", "call(", "output(", "open("}

// pythonCommands finds the commands that a Python script starts: lists of words, and shell lines.
// It ignores comments and help texts.
func pythonCommands(text string) (all [][]string) {
	for at := 0; at < len(text); at++ {
		word, ok := quoted(text[at:])
		if !ok {
			continue
		}
		before := strings.TrimRight(strings.TrimRight(text[:at], "rf"), " \n\t")
		switch {
		case slices.Contains(launchers, path.Base(word)):
			rest, _, _ := strings.Cut(text[at:], "]")
			rest = rest[strings.LastIndexByte(rest, '[')+1:] // of execvp(file, [words])
			words := strings.Fields(strings.NewReplacer(`"`, " ", `'`, " ", ",", " ").Replace(rest))
			if strings.Contains(word, ".") {
				words = append([]string{"python", "-m"}, words...)
			}
			all = append(all, words)
		case slices.ContainsFunc(callers, func(call string) bool { return strings.HasSuffix(before, call) }):
			all = append(all, shellCommands(word)...)
		}
		at += len(word) + 1
	}
	return all
}

// quoted returns the text between the quotes at the start of a Python text. It accepts one line
// only, and no triple-quoted string.
func quoted(text string) (string, bool) {
	if text[0] != '"' && text[0] != '\'' {
		return "", false
	}
	word, _, ok := strings.Cut(text[1:], text[:1])
	return word, ok && word != "" && !strings.Contains(word, "\n")
}

// recipes returns the text that make runs for these words: the recipes of its goals and of their
// prerequisites in the makefile.
func recipes(words []string, read func(string) string) string {
	dir, file := "", ""
	var goals []string
	for i := 0; i < len(words); i++ {
		switch word := words[i]; {
		case word == "-C" && i+1 < len(words):
			i++
			dir = path.Join(dir, words[i])
		case word == "-f" && i+1 < len(words):
			i++
			file = words[i]
		case strings.HasPrefix(word, "-") || isAssignment(word):
		default:
			goals = append(goals, word)
		}
	}
	text := ""
	for _, name := range []string{file, "GNUmakefile", "makefile", "Makefile"} {
		if name != "" && text == "" && (file == "" || name == file) {
			text = read(path.Join(dir, name))
		}
	}
	return makefile(text).of(goals)
}

// rules are the rules of a makefile: the prerequisites and the recipe of each target. first is the
// first target.
type rules struct {
	first string
	needs map[string][]string
	does  map[string]string
}

func makefile(text string) rules {
	r := rules{needs: map[string][]string{}, does: map[string]string{}}
	var targets []string
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		if recipe, ok := strings.CutPrefix(line, "\t"); ok {
			for _, target := range targets {
				r.does[target] += strings.TrimLeft(recipe, "@-+ ")
			}
			continue
		}
		head, needs, ok := strings.Cut(line, ":")
		if !ok || strings.HasPrefix(needs, "=") || strings.ContainsAny(head, "=#") {
			continue
		}
		targets = strings.Fields(head)
		for _, target := range targets {
			if r.first == "" && !strings.HasPrefix(target, ".") {
				r.first = target
			}
			r.needs[target] = append(r.needs[target], strings.Fields(needs)...)
		}
	}
	return r
}

// of returns the recipes that make runs for these goals, by default the first rule's.
func (r rules) of(goals []string) string {
	if len(goals) == 0 {
		goals = []string{r.first}
	}
	text, seen := "", map[string]bool{}
	for len(goals) > 0 {
		goal := goals[0]
		goals = goals[1:]
		if !seen[goal] {
			seen[goal] = true
			text += r.does[goal]
			goals = append(goals, r.needs[goal]...)
		}
	}
	return text
}
