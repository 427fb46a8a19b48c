package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/exec/names"
)

// allVerbs returns the verbs of this binary, the most common ones first, and those of the small
// binary. Users type `agent` for both.
func allVerbs() []string {
	return slices.Concat(launchVerbs(), []string{"metrics"}, clientVerbs(), names.SmallVerbs())
}

// clientVerbs returns the verbs for jobs in a cluster, and those about this program.
func clientVerbs() []string {
	return []string{"convert", "version", "completion", "keygen", "help", "submit", "list", "get", "logs", "attach", "stacks", "timeline", "doctor", "scale", "delete", "prune", "top"}
}

// verbOf rejects a first word that is no verb. Otherwise cobra would first reject the flags of the
// intended verb.
func verbOf(by caller, args []string) error {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return nil
	}
	if slices.Contains(by.verbs(), args[0]) || isAsked(args[0]) {
		return nil
	}
	switch {
	case by == asPlugin && slices.Contains(allVerbs(), args[0]):
		return &failure.Failure{Code: names.ExitUsage, Err: fmt.Errorf("%q is a verb of agent, for the pods of a job", args[0]),
			Way: "agent submit creates a job"}
	case by == asAgent && framework.Detect(args[:1]) != "":
		return &failure.Failure{Code: names.ExitUsage, Err: fmt.Errorf("unknown verb %q", args[0]),
			Way: "agent run --workers=4 --job=NAME -- " + strings.Join(args, " ") + ", or on this machine: agent run --fake=4 -- " + strings.Join(args, " ")}
	}
	return unknownVerb(by, args[0])
}

// newElsewhere returns a placeholder for a verb of the small binary.
func newElsewhere(verb string) *cobra.Command {
	return &cobra.Command{Use: verb, DisableFlagParsing: true, RunE: func(*cobra.Command, []string) error {
		return &failure.Failure{Code: names.ExitUsage, Err: fmt.Errorf("%q is a verb of agent, not of agent-launcher", verb), Way: "agent " + verb + " --help"}
	}}
}

func unknownVerb(by caller, verb string) error {
	way := "agent --help lists the verbs"
	like := meant(verb)
	if !slices.Contains(by.verbs(), like) {
		like = failure.Nearest(verb, by.verbs())
	}
	switch {
	case verb == "apply":
		way = fileWay("FILE")
	case like != "":
		way = "did you mean agent " + like + "?"
	}
	return &failure.Failure{Code: names.ExitUsage, Err: fmt.Errorf("unknown verb %q", verb), Way: way}
}

// meant returns the verb for a word that kubectl, Slurm, Docker or Arena has for the same, or "".
func meant(word string) string {
	switch word {
	case "status", "describe", "show":
		return "get"
	case "ps", "ls", "jobs", "queue", "squeue":
		return "list"
	case "cancel", "scancel", "kill", "stop", "rm", "remove":
		return "delete"
	case "create", "sbatch":
		return "submit"
	case "start", "launch", "srun":
		return "run"
	}
	return ""
}

// fileWay is the hint for those who want to create the jobs of a file.
func fileWay(file string) string { return "kubectl apply -f " + file + " creates the jobs of a file" }
