package framework

import (
	"path"
	"slices"
	"strings"
)

// mostScripts is how many nested scripts are followed to find a Python script.
const mostScripts = 3

// Initialises returns the framework whose process group the Python script of a command creates:
// "torch", "horovod" and so on, or "" if none is found. The script is the command itself, or is
// started by a shell or make file. read returns the text of a file, or "" if the file cannot be
// read. A command that only prints its help creates none.
//
// It looks for the call and not for names: a script that only checks whether torch.distributed is
// available creates no group.
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

// pythonText returns the text of a Python command's script, module or -c option.
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

// groupOf returns the framework of the first call in a Python text that joins a process group.
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

// statements returns a Python text without comments and without the first lines of definitions.
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
