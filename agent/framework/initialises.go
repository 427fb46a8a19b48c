package framework

import (
	"path"
	"slices"
	"strings"
)

// mostScripts is how many scripts deep a Python script is looked for.
const mostScripts = 3

// Initialises returns the framework whose process group a command's Python script makes:
// "torch", "horovod" and so on, "" where none is known to. The script is the command itself, or
// one that a shell's or make's file starts. read returns the text of a file, "" where it cannot
// be read. A command that is asked for its help makes none.
//
// It looks for the call, not for names: a script that asks whether torch.distributed is there
// makes no group.
func Initialises(argv []string, read func(path string) string) string {
	return initialises(argv, read, mostScripts)
}

func initialises(argv []string, read func(path string) string, deep int) string {
	at := program(argv)
	if at == len(argv) || deep == 0 || slices.ContainsFunc(argv, asksForHelp) {
		return ""
	}
	name, words := path.Base(argv[at]), argv[at+1:]
	text, python := "", false
	switch {
	case isShell(name):
		text = shellText(words, read)
	case name == "make" || name == "gmake":
		text = recipes(words, read)
	case isPython(name), strings.HasSuffix(name, ".py"):
		text, python = pythonText(argv, read), true
	default:
		text = read(argv[at])
		line, _, _ := strings.Cut(text, "\n")
		if !strings.HasPrefix(line, "#!") {
			return ""
		}
		python = strings.Contains(line, "python")
	}
	if python {
		return groupOf(text)
	}
	for _, words := range shellCommands(text) {
		if found := initialises(words, read, deep-1); found != "" {
			return found
		}
	}
	return ""
}

func asksForHelp(word string) bool {
	return slices.Contains([]string{"--help", "-h", "--version"}, word)
}

// pythonText is the text of the script, module or -c of a Python command.
func pythonText(argv []string, read func(string) string) string {
	file, text := Script(argv)
	if file != "" {
		return read(file)
	}
	if at := program(argv); text == "" && isPython(path.Base(argv[at])) {
		if at = module(argv, at+1); at < len(argv) {
			file = strings.ReplaceAll(argv[at], ".", "/")
			return read(file+".py") + read(file+"/__main__.py")
		}
	}
	return text
}

// groupOf returns the framework of the first call in a Python text that makes its process a
// part of a group.
func groupOf(text string) string {
	text = statements(text)
	for _, f := range []struct {
		name  string
		calls []string
	}{
		{"torch", []string{"init_process_group(", "deepspeed.init_distributed(", "deepspeed.initialize("}},
		{"jax", []string{"jax.distributed.initialize("}},
		{"horovod", []string{"hvd.init("}},
		{"tensorflow", []string{"MultiWorkerMirroredStrategy("}},
		{"paddle", []string{"init_parallel_env(", "fleet.init("}},
		{"xgboost", []string{"collective.CommunicatorContext("}},
	} {
		for _, call := range f.calls {
			if strings.Contains(text, call) {
				return f.name
			}
		}
	}
	return ""
}

// statements is a Python text without comments and the first lines of definitions.
func statements(text string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		switch word, _, _ := strings.Cut(strings.TrimSpace(line), " "); {
		case strings.HasPrefix(word, "#"), word == "def", word == "class":
		default:
			kept.WriteString(line)
		}
	}
	return kept.String()
}
