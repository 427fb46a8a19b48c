package rendezvous

import (
	"time"

	"github.com/musterhq/muster/exec/names"
)

// Code is one word for why a worker is not ready.
type Code string

// Reasons. Explain returns those from a pod's status. Those of the link have constructors in
// link.go. Users read these comments in docs/reference/reasons.md.
const (
	// The pod does not exist yet.
	Missing Code = "Missing"
	// No node has room for the pod, or none matches its selectors and tolerations.
	Unschedulable Code = "Unschedulable"
	// A scheduling gate holds the pod back, as Kueue's does until the queue has quota.
	SchedulingGated Code = "SchedulingGated"
	// No scheduler has looked at the pod yet.
	Pending Code = "Pending"
	// The node prepares the pod: volumes, network, image.
	ContainerCreating Code = "ContainerCreating"
	// The node cannot pull the image: a wrong name, no credentials, or a registry that does not answer.
	ImagePull Code = "ImagePull"
	// The name of the image is not valid.
	InvalidImage Code = "InvalidImage"
	// The container needs a ConfigMap, a Secret or a key that does not exist.
	ConfigError Code = "CreateContainerConfigError"
	// The container's command cannot be started.
	StartError Code = "StartError"
	// The container failed several times, and the kubelet waits before it restarts the container.
	CrashLoop Code = "CrashLoop"
	// The container used more memory than its limit.
	OOMKilled Code = "OOMKilled"
	// The container exited with a failure, or the pod failed.
	Error Code = "Error"
	// The container exited with 0 before the job began.
	Completed Code = "Completed"
	// An init container still runs, or failed.
	Init Code = "Init"
	// The pod was evicted: its node ran short of a resource, or somebody drains the node.
	Evicted Code = "Evicted"
	// A pod of higher priority took the place.
	Preempted Code = "Preempted"
	// The pod's node is gone or cannot be reached.
	NodeLost Code = "NodeLost"
	// The pod is being deleted.
	Terminating Code = "Terminating"
	// The container runs, and its readiness probe fails.
	NotReady Code = "NotReady"
	// The pod has several containers, and none is marked as the worker.
	AmbiguousContainer Code = "AmbiguousContainer"

	// The node cannot mount a volume of the pod.
	FailedMount Code = "FailedMount"
	// The storage system cannot attach a volume to the pod's node.
	FailedAttachVolume Code = "FailedAttachVolume"
	// The node cannot map a block volume of the pod.
	FailedMapVolume Code = "FailedMapVolume"
	// The container runtime cannot create the pod's sandbox, often because of the network plugin.
	FailedCreatePodSandBox Code = "FailedCreatePodSandBox"
	// The node cannot prepare a device that the pod claims.
	FailedPrepareDynamicResources Code = "FailedPrepareDynamicResources"
	// The node's network plugin is not ready.
	NetworkNotReady Code = "NetworkNotReady"

	// The container runs, and its agent has not answered yet.
	Connecting Code = "Connecting"
	// The container has the agent, but does not run `agent worker`.
	NoWorker Code = "NoWorker"
	// The container does not have the agent.
	NoAgent Code = "NoAgent"
	// The worker does not have the agent at the path that mpirun's daemons call.
	RshAgentMissing Code = "RshAgentMissing"
	// The launcher does not have the right to exec into the pod.
	Forbidden Code = "Forbidden"
	// The API server does not accept the launcher's token.
	Unauthorized Code = "Unauthorized"
	// The agents of the launcher and the worker have no common version of the protocol.
	Incompatible Code = "Incompatible"
	// The worker belongs to another job: --selector matches too many pods.
	OtherJob Code = "OtherJob"
	// Another, newer launcher took the worker.
	Superseded Code = "Superseded"
	// The worker does not accept the launcher, which runs on that worker, or is not who it says.
	Barred Code = "Barred"
	// The worker's agent cannot be reached.
	Unreachable Code = "Unreachable"

	// The label selector is not valid.
	BadSelector Code = "BadSelector" // only from Watch
)

// Reason says why one worker is not ready. The zero value means that it is ready.
type Reason struct {
	Code Code
	Pod  string
	// Brief is Kubernetes' own word and the cause, for the progress line. That line adds the pod's
	// name before it. Brief contains no durations.
	Brief    string
	Sentence string // names the pod and the cause
	Hint     string // what to do
	// Permanent means that waiting does not help unless the cause is fixed within the grace.
	Permanent bool
	Grace     time.Duration // of a permanent reason; 0: the Board's, negative: none
	Since     time.Time     // by the clock of the cluster; may be zero

	vague bool // an earlier reason with the same code may say more
}

// OK reports whether the worker has no reason not to run.
func (r Reason) OK() bool { return r.Code == "" }

// Ordinary reports whether every start has this reason for a while.
func (r Reason) Ordinary() bool {
	switch r.Code {
	case "", Missing, Pending, ContainerCreating, Connecting, NotReady:
		return true
	case Init:
		return !r.Permanent
	}
	return false
}

// fleeting reports whether a container may have the reason only while it starts or ends.
func (r Reason) fleeting() bool { return r.Code == Unreachable || r.Code == NoWorker }

// ExitCode returns the launcher's exit code if it gives up for this reason.
func (r Reason) ExitCode() int {
	switch r.Code {
	case Forbidden, Unauthorized:
		return names.ExitForbidden
	case BadSelector:
		return names.ExitUsage
	case Unreachable:
		return names.ExitNoCluster
	}
	return names.ExitHopeless
}

// HopelessError ends a wait early, because waiting cannot help.
type HopelessError struct {
	Reason Reason
}

func (e *HopelessError) Error() string {
	return "wait for workers: " + e.Reason.Sentence
}

// Hint says what the user can do.
func (e *HopelessError) Hint() string { return e.Reason.Hint }
