package remote

import (
	"fmt"
	"strings"
)

// ForbiddenError is a 403 of the API server for pods/exec.
type ForbiddenError struct {
	Target  Target
	Message string // the server's message
}

func (e *ForbiddenError) Error() string {
	return fmt.Sprintf("exec into %s is forbidden: %s", e.Target, e.Message)
}

// Hint returns the Role rule that would allow this exec.
func (e *ForbiddenError) Hint() string { return Rule(e.Target.Namespace, []string{e.Target.Pod}) }

// AgentMissingError says that the container could not run the agent.
type AgentMissingError struct {
	Target    Target
	Complaint string // the container runtime's message
}

func (e *AgentMissingError) Error() string {
	return fmt.Sprintf("container %s of %s cannot run the agent %s: %s", e.Target.Container, e.Target, e.Target.Agent, e.Complaint)
}

// Hint says how to provide an agent there.
func (e *AgentMissingError) Hint() string {
	return fmt.Sprintf("copy an agent of the same architecture to %s in the image of the worker, or give its path with --worker-agent", e.Target.Agent)
}

// Rule returns the text of a Role rule that lets a launcher exec into the named pods and no others.
// Both verbs are needed: get for a WebSocket upgrade, and create for SPDY. API servers since 1.35
// require create for WebSockets, too.
func Rule(namespace string, pods []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "add this rule to the Role of the launcher's ServiceAccount in namespace %s:\n", namespace)
	b.WriteString("- apiGroups: [\"\"]\n  resources: [\"pods/exec\"]\n  verbs: [\"get\", \"create\"]\n  resourceNames: [")
	for i, pod := range pods {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", pod)
	}
	b.WriteString("]")
	return b.String()
}
