// Command agent is in every image of a job: it is PID 1 of workers, the bridge that pods/exec runs
// in them, and mpirun's remote shell in the launcher. It is small and starts fast. It passes the
// verbs of the launcher to the binary agent-launcher beside it.
package main

import (
	"os"
	"path/filepath"
)

func main() {
	args := os.Args[1:]
	switch filepath.Base(os.Args[0]) {
	case "kubexec.sh", "ssh", "rsh":
		// mpirun, Horovod and others call their remote shell by these names.
		os.Exit(runSSH(args))
	case "pdsh":
		os.Exit(runPdsh(args))
	case "kubectl-muster", "kubectl_complete-muster":
		os.Exit(handOverAs(os.Args[0], args)) // the launcher looks at its name
	}
	if len(args) == 0 {
		os.Exit(runHelp())
	}
	if args[0] == "help" {
		// help VERB is VERB --help. help alone is always ours.
		args = append(args[1:], "--help")
	}
	if verb, ok := verbs()[args[0]]; ok {
		os.Exit(verb(args[1:]))
	}
	os.Exit(handOver(args))
}

// verbs returns the verbs of this binary.
func verbs() map[string]func(args []string) int {
	return map[string]func([]string) int{
		"worker": runWorker, "attach": runAttach, "rsh": runRsh, "ready": runReady, "install": runInstall, "lay": runLay, "join": runJoin,
		"--help": func([]string) int { return runHelp() }, "-h": func([]string) int { return runHelp() },
		"--version": func(args []string) int { return handOver(append([]string{"version"}, args...)) },
	}
}
