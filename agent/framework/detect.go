package framework

import (
	"path"
	"strings"
)

// Detect recognises the framework whose launcher the command is: "mpi", "torch",
// "horovod", "deepspeed", "ray", "paddle"; "" where the command says nothing,
// as `python train.py` does.
func Detect(argv []string) string {
	program, rest := program(argv)
	switch {
	case isMPIRun(program):
		return "mpi"
	case program == "torchrun":
		return "torch"
	case program == "accelerate" || program == "accelerate-launch":
		if program == "accelerate-launch" || first(rest) == "launch" {
			return "torch"
		}
	case program == "horovodrun":
		return "horovod"
	case program == "deepspeed", program == "ds":
		return "deepspeed"
	case program == "ray":
		return "ray"
	case isPython(program):
		return ofModule(module(rest))
	}
	return ""
}

// ofModule recognises the launchers that are run as `python -m MODULE`.
func ofModule(name string) string {
	switch name {
	case "torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch":
		return "torch"
	case "paddle.distributed.launch":
		return "paddle"
	case "horovod.runner", "horovod.runner.launch":
		return "horovod"
	case "deepspeed.launcher.runner":
		return "deepspeed"
	}
	return ""
}

// perNode is the framework whose launcher starts the ranks of its own worker,
// and is itself started once on each; "" otherwise.
func perNode(argv []string) string {
	if name := Detect(argv); name == "torch" || name == "paddle" {
		return name
	}
	return ""
}

// program is the base name of the command and what follows, behind `env` with
// its assignments.
func program(argv []string) (name string, rest []string) {
	for len(argv) > 0 && path.Base(argv[0]) == "env" {
		argv = argv[1:]
		for len(argv) > 0 && strings.Contains(argv[0], "=") && !strings.HasPrefix(argv[0], "-") {
			argv = argv[1:]
		}
	}
	if len(argv) == 0 {
		return "", nil
	}
	return path.Base(argv[0]), argv[1:]
}

// isMPIRun tells mpirun and its like, with a variant's suffix (mpirun.openmpi)
// or without.
func isMPIRun(program string) bool {
	stem, _, _ := strings.Cut(program, ".")
	switch stem {
	case "mpirun", "mpiexec", "orterun", "prterun":
		return true
	}
	return false
}

// isPython tells python, python3, python3.11, pypy3.
func isPython(program string) bool {
	name := strings.TrimRight(program, "0123456789.")
	return name == "python" || name == "pypy"
}

// module is what `python [options] -m MODULE` runs, "" for a script. -X and -W
// take a word of their own; -m may share its word with other letters (-um).
func module(args []string) string {
	for len(args) > 0 {
		option := args[0]
		args = args[1:]
		switch {
		case option == "-X" || option == "-W":
			if len(args) > 0 {
				args = args[1:]
			}
		case !strings.HasPrefix(option, "-") || strings.HasPrefix(option, "--"):
			return ""
		case strings.HasSuffix(option, "m"):
			return first(args)
		case strings.HasPrefix(option, "-m"):
			return strings.TrimPrefix(option, "-m")
		case strings.HasSuffix(option, "c"):
			return ""
		}
	}
	return ""
}

func first(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

// lastWords is a command as a sentence shows it.
func lastWords(argv []string) string { return strings.Join(argv, " ") }
