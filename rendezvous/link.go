package rendezvous

import (
	"fmt"
	"strings"
	"time"

	"github.com/musterhq/muster/exec/names"
)

// ForbiddenGrace is how long a worker's 401 or 403 counts as temporary. A restarted API server
// answers 403 to valid tokens until its RBAC caches are full. The launcher must exit with 77 after
// 60 s.
const ForbiddenGrace = 50 * time.Second

// LinkState is the state of the link to one worker.
type LinkState struct {
	Ready  bool
	Reason Reason // why it is not ready, if known
}

// ConnectingTo means that the container runs and its agent has not answered yet.
func ConnectingTo(pod string) Reason {
	return Reason{
		Code: Connecting, Pod: pod, Brief: "connecting to its agent",
		Sentence: pod + ": the container runs, its agent has not answered yet",
		Hint:     "kubectl logs " + pod + " shows what the agent says",
	}
}

// LinkUnreachable means that the worker's agent cannot be reached. cause is the error of the last
// attempt.
func LinkUnreachable(pod string, cause string) Reason {
	return Reason{
		Code: Unreachable, Pod: pod, Brief: "Unreachable: " + clip(cause, 120),
		Sentence: fmt.Sprintf("%s: its agent cannot be reached: %s", pod, clip(cause, 400)),
		Hint:     "the launcher keeps retrying; if it lasts, check whether kubectl exec " + pod + " works",
	}
}

// LinkNoWorker means that the container runs and contains the agent, but `agent worker` does not
// run in it: it runs another command, or is still starting.
func LinkNoWorker(pod, container string, cause string) Reason {
	return Reason{
		Code: NoWorker, Pod: pod, Brief: "NoWorker: container " + container + " does not run `agent worker`",
		Sentence: fmt.Sprintf("%s: container %s runs, but no `agent worker` runs in it: %s", pod, container, clip(cause, 300)),
		Hint:     "set the command of the container to `agent worker`, in place of sleep or sshd; images made for Muster run it by default",
	}
}

// LinkForbidden means that the launcher has no right to exec into the pod (403).
func LinkForbidden(pod, namespace string, cause string) Reason {
	return Reason{
		Code: Forbidden, Pod: pod, Brief: "Forbidden: no permission to exec into the pod",
		Sentence: fmt.Sprintf("%s: the launcher may not exec into it: %s", pod, clip(after(cause, " is forbidden: "), 400)),
		Hint: fmt.Sprintf("add this rule to the Role of the launcher's ServiceAccount in namespace %s: "+
			`{apiGroups: [""], resources: ["pods/exec"], verbs: ["get", "create"], resourceNames: [...]}, with the names of all workers of the job`, namespace),
		Permanent: true, Grace: ForbiddenGrace,
	}
}

// LinkUnauthorized means that the API server rejects the launcher's token (401).
func LinkUnauthorized(pod string, cause string) Reason {
	return Reason{
		Code: Unauthorized, Pod: pod, Brief: "Unauthorized: the API server refuses the launcher's token",
		Sentence:  fmt.Sprintf("%s: the API server does not accept the launcher's token: %s", pod, clip(cause, 400)),
		Hint:      "check that the launcher's ServiceAccount still exists and that its token is mounted (automountServiceAccountToken)",
		Permanent: true, Grace: ForbiddenGrace,
	}
}

// LinkNoAgent means that exec could not start the agent in the container. path is the agent's path.
func LinkNoAgent(pod, container, path string, cause string) Reason {
	target := path
	if !strings.HasPrefix(path, "/") {
		target = names.AgentPath
	}
	return Reason{
		Code: NoAgent, Pod: pod, Brief: "NoAgent: no " + path + " in container " + container,
		Sentence: fmt.Sprintf("%s: container %s has no agent (%s): %s", pod, container, path, clip(after(cause, " cannot run the agent "+path+": "), 300)),
		Hint: "set spec.agent.delivery: auto in the LaunchJob; in other pods, bake the agent into the image (COPY --from=... /agent " + target + "), " +
			"copy it in with an init container (agent install), or name its path with --worker-agent",
		Permanent: true,
	}
}

// LinkRshAgentMissing means that the worker does not have the path that mpirun's daemons would call
// to start other daemons.
func LinkRshAgentMissing(pod, path string) Reason {
	return Reason{
		Code: RshAgentMissing, Pod: pod, Brief: "RshAgentMissing: no " + path + " on the worker",
		Sentence:  fmt.Sprintf("%s: the rsh agent %s does not exist in its container; mpirun would hang", pod, path),
		Hint:      "put the agent at the same path in the launcher's and the workers' images",
		Permanent: true,
	}
}

// after returns what follows words in a cause, because our sentence says those words already.
func after(cause, words string) string {
	if i := strings.LastIndex(cause, words); i >= 0 {
		return cause[i+len(words):]
	}
	return cause
}
