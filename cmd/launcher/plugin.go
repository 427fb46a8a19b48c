package main

import (
	"path/filepath"
	"slices"
	"strings"
)

// Names under which kubectl starts this program. It runs kubectl-muster for `kubectl muster`, and
// kubectl_complete-muster to complete a line that begins with that.
const (
	pluginProgram   = "kubectl-muster"
	completeProgram = "kubectl_complete-muster"
)

// caller is the program's name as the user types it, and what depends on it.
type caller string

const (
	asAgent  caller = "agent"
	asPlugin caller = "kubectl muster"
)

// calledAs returns the caller and the arguments of a command line, including argv[0].
func calledAs(argv []string) (caller, []string) {
	if len(argv) == 0 {
		return asAgent, nil
	}
	switch strings.TrimSuffix(filepath.Base(argv[0]), ".exe") {
	case pluginProgram:
		return asPlugin, argv[1:]
	case completeProgram:
		return asPlugin, append([]string{"__complete"}, argv[1:]...)
	}
	return asAgent, argv[1:]
}

// verbs returns the verbs that this caller has, the most common ones first. The plugin is for jobs in
// a cluster: it has neither a launcher's verbs nor a worker's.
func (c caller) verbs() []string {
	if c == asPlugin {
		return clientVerbs()
	}
	return allVerbs()
}

// words returns what changes the names of verbs in help and messages to what the user types, or nil
// if nothing has to change.
func (c caller) words() *strings.Replacer {
	if c == asAgent {
		return nil
	}
	pairs := []string{"agent: ", string(c) + ": ", "agent VERB", string(c) + " VERB", "agent --", string(c) + " --"}
	for _, verb := range c.verbs() {
		pairs = append(pairs, "agent "+verb, string(c)+" "+verb)
	}
	return strings.NewReplacer(pairs...)
}

// verbFirst moves kubectl's flags for cluster and namespace behind the verb. kubectl takes them
// before its own verbs.
func verbFirst(args []string) []string {
	at := 0
	for at < len(args) {
		name, _, valued := strings.Cut(args[at], "=")
		switch {
		case slices.Contains([]string{"-n", "--namespace", "--context", "--kubeconfig"}, name):
			at++
			if !valued {
				at++
			}
			continue
		case strings.HasPrefix(name, "-n"): // -nlab
			at++
			continue
		}
		break
	}
	if at == 0 || at >= len(args) || strings.HasPrefix(args[at], "-") {
		return args
	}
	return slices.Concat(args[at:at+1], args[:at], args[at+1:])
}
