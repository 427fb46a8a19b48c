package framework

import (
	"path"
	"strings"
)

// Starter is a launcher that starts commands on other machines itself, by ssh or pdsh.
type Starter struct {
	Name string
	// Elastic means that it goes on when commands fail, and may still succeed.
	Elastic bool
	// Trials means that it starts further launchers of its kind, some of which are meant to fail.
	Trials bool
}

// StarterIn returns the starter that runs in a process with these arguments: the launcher of
// DeepSpeed, Horovod or Ray. It returns false for others, including torchrun and accelerate: these
// start processes on their own machine, and ssh in those belongs to the user.
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

// IsProgram reports whether a command runs the program of that name, including behind a wrapper
// such as timeout.
func IsProgram(argv []string, name string) bool {
	at := program(argv)
	return at < len(argv) && path.Base(argv[at]) == name
}

// withoutInterpreter drops the Python interpreter that runs a script by its first line.
func withoutInterpreter(argv []string) []string {
	if len(argv) > 1 && isPython(path.Base(argv[0])) && !strings.HasPrefix(argv[1], "-") {
		return argv[1:]
	}
	return argv
}

// StartsRanksOnce reports whether a command starts ranks on its own machine and its arguments do not
// have them restarted: torchrun or accelerate, directly or in a script. Unless the environment has
// them restarted ([RestartsRanks]), such a command succeeds only if all of its ranks do. read is as
// for [Below].
func StartsRanksOnce(argv []string, read func(path string) string) bool {
	words := argv
	if recognise(argv).launcher == "" {
		words = Below(argv, read)
	}
	switch recognise(words).launcher {
	case byTorchrun, byAccelerate:
		return !has(words, "--max-restarts", "--max_restarts")
	default:
		return false
	}
}

// RestartsRanks reports whether torchrun restarts ranks because of its environment, K=V. The last
// assignment of a name counts.
func RestartsRanks(env []string) bool {
	restarts := ""
	for _, kv := range env {
		if value, ok := strings.CutPrefix(kv, "PET_MAX_RESTARTS="); ok {
			restarts = value
		}
	}
	return restarts != "" && restarts != "0"
}
