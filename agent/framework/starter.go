package framework

import (
	"path"
	"strings"
)

// Starter is a launcher that starts its commands on other machines by ssh or pdsh itself.
type Starter struct {
	Name string
	// Elastic: it goes on without commands that fail, and may end well.
	Elastic bool
	// Trials: it starts others of its kind, of which some are meant to fail.
	Trials bool
}

// StarterIn returns the starter that a process is, by its arguments: DeepSpeed's, Horovod's
// or Ray's launcher; false for none. torchrun and accelerate are none: they start processes on
// their own machine, and what these do over ssh is the user's.
func StarterIn(argv []string) (Starter, bool) {
	argv = withoutInterpreter(argv)
	cmd := recognise(argv)
	var s Starter
	switch cmd.framework {
	case "deepspeed":
		s.Elastic, s.Trials = has(argv, "--elastic_training"), has(argv, "--autotuning")
	case "horovod":
		s.Elastic = has(argv, "--min-np", "--min-num-proc", "--max-np", "--max-num-proc", "--host-discovery-script")
	case "ray":
	default:
		return Starter{}, false
	}
	s.Name = path.Base(argv[program(argv)])
	if isPython(s.Name) { // python -m
		s.Name = cmd.framework
	}
	return s, true
}

// IsProgram reports whether a command runs the program of that name, also behind a wrapper
// such as timeout.
func IsProgram(argv []string, name string) bool {
	at := program(argv)
	return at < len(argv) && path.Base(argv[at]) == name
}

// withoutInterpreter leaves out the Python that runs a script by its first line.
func withoutInterpreter(argv []string) []string {
	if len(argv) > 1 && isPython(path.Base(argv[0])) && !strings.HasPrefix(argv[1], "-") {
		return argv[1:]
	}
	return argv
}

// StartsRanksOnce reports whether a command starts ranks on its own machine and never starts them
// again: torchrun or accelerate without restarts, also in a script, with that environment (K=V). Such
// a command ends well only if all of its ranks do. read is as for [Below].
func StartsRanksOnce(argv []string, read func(path string) string, env []string) bool {
	words := argv
	if recognise(argv).launcher == "" {
		words = Below(argv, read)
	}
	switch recognise(words).launcher {
	case byTorchrun, byAccelerate:
	default:
		return false
	}
	restarts := ""
	for _, kv := range env {
		if value, ok := strings.CutPrefix(kv, "PET_MAX_RESTARTS="); ok {
			restarts = value
		}
	}
	return (restarts == "" || restarts == "0") && !has(words, "--max-restarts", "--max_restarts")
}
