package framework

import (
	"path"
	"slices"
	"strings"

	"github.com/musterhq/muster/exec/names"
)

// Detect returns the framework whose launcher the command is: "mpi", "torch", "horovod",
// "deepspeed", "ray" or "paddle". It returns "" for any other command, such as `python train.py`.
func Detect(argv []string) string { return recognise(argv).framework }

// Launchers that start the ranks of their own worker, and that Muster starts once on each worker.
const (
	byTorchrun   = "torchrun"
	byAccelerate = "accelerate launch"
	byPaddle     = "paddle.distributed.launch"
)

// command is the result of recognizing a command line.
type command struct {
	framework string
	launcher  string // one of the constants above, else ""
	options   int    // index of the first word after the launcher's own words
}

func recognise(argv []string) command {
	at := program(argv)
	if at == len(argv) {
		return command{}
	}
	name := path.Base(argv[at])
	if isPython(name) {
		if at = module(argv, at+1); at == len(argv) {
			return command{}
		}
		found := ofModule(argv[at])
		found.options = at + 1
		return found
	}
	found := ofProgram(name)
	found.options = at + 1
	if name == "accelerate" {
		if at+1 == len(argv) || argv[at+1] != "launch" {
			return command{}
		}
		found.options++
	}
	return found
}

func ofProgram(name string) command {
	switch {
	case names.IsMPIRun(name):
		return command{framework: "mpi"}
	case name == "torchrun":
		return command{framework: "torch", launcher: byTorchrun}
	case name == "accelerate", name == "accelerate-launch":
		return command{framework: "torch", launcher: byAccelerate}
	case name == "horovodrun":
		return command{framework: "horovod"}
	case name == "deepspeed", name == "ds":
		return command{framework: "deepspeed"}
	case name == "ray":
		return command{framework: "ray"}
	}
	return command{}
}

// ofModule recognizes launchers that are run as `python -m MODULE`.
func ofModule(name string) command {
	switch name {
	case "torch.distributed.run", "torch.distributed.launch":
		return command{framework: "torch", launcher: byTorchrun}
	case "accelerate.commands.launch":
		return command{framework: "torch", launcher: byAccelerate}
	case "paddle.distributed.launch":
		return command{framework: "paddle", launcher: byPaddle}
	case "horovod.runner", "horovod.runner.launch":
		return command{framework: "horovod"}
	case "deepspeed.launcher.runner":
		return command{framework: "deepspeed"}
	}
	return command{}
}

// isPython reports whether program is a Python interpreter: python, python3, python3.11, pypy3.
func isPython(program string) bool {
	name := strings.TrimRight(program, "0123456789.")
	return name == "python" || name == "pypy"
}

// module returns the index of MODULE in `python [options] -m MODULE`, or len(argv) for a script. -X
// and -W take the next word as their value; -m may be combined with other letters (-um).
func module(argv []string, at int) int {
	for ; at < len(argv); at++ {
		option := argv[at]
		switch {
		case option == "-X" || option == "-W":
			at++
		case !strings.HasPrefix(option, "-") || strings.HasPrefix(option, "--") || strings.HasSuffix(option, "c"):
			return len(argv)
		case strings.HasSuffix(option, "m"):
			return at + 1
		}
	}
	return len(argv)
}

// has reports whether the words contain one of the options: as --name, as --name=value or, if the
// option has two letters, with its value in the same word.
func has(words []string, options ...string) bool {
	for _, word := range words {
		name, _, _ := strings.Cut(word, "=")
		for _, option := range options {
			if name == option || len(option) == 2 && strings.HasPrefix(word, option) && !strings.HasPrefix(word, "--") {
				return true
			}
		}
	}
	return false
}

// insert puts options after the launcher's own words.
func (c command) insert(argv []string, options ...string) []string {
	return slices.Concat(argv[:c.options], options, argv[c.options:])
}
