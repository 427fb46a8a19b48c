package rendezvous

import (
	"time"

	"github.com/musterhq/muster/exec/names"
)

// Code is the one word for why a worker is not ready.
type Code string

// The reasons. Those from a pod's status come from Explain; those of the link
// have a constructor of their own in link.go.
const (
	Missing            Code = "Missing" // no such pod yet
	Unschedulable      Code = "Unschedulable"
	SchedulingGated    Code = "SchedulingGated"
	Pending            Code = "Pending"
	ContainerCreating  Code = "ContainerCreating"
	ImagePull          Code = "ImagePull"
	InvalidImage       Code = "InvalidImage"
	ConfigError        Code = "CreateContainerConfigError"
	StartError         Code = "StartError"
	CrashLoop          Code = "CrashLoop"
	OOMKilled          Code = "OOMKilled"
	Error              Code = "Error"     // the container exited with a failure, or the pod failed
	Completed          Code = "Completed" // it exited with 0 before the job began
	Init               Code = "Init"
	Evicted            Code = "Evicted"
	Preempted          Code = "Preempted"
	NodeLost           Code = "NodeLost"
	Terminating        Code = "Terminating"
	NotReady           Code = "NotReady"
	AmbiguousContainer Code = "AmbiguousContainer"

	Connecting      Code = "Connecting" // the container runs, its agent has not answered yet
	NoWorker        Code = "NoWorker"   // the agent is there, but nobody runs `agent worker`
	NoAgent         Code = "NoAgent"    // the container has no agent
	RshAgentMissing Code = "RshAgentMissing"
	Forbidden       Code = "Forbidden"
	Unauthorized    Code = "Unauthorized"
	Incompatible    Code = "Incompatible"
	Superseded      Code = "Superseded"
	Unreachable     Code = "Unreachable"

	BadSelector Code = "BadSelector" // of Watch only
)

// Reason says why one worker is not ready. The zero value means that nothing is
// in its way.
type Reason struct {
	Code Code
	Pod  string
	// Brief is Kubernetes' own word and the cause, for the progress line, which
	// puts the pod's name before it; it holds nothing that changes with time.
	Brief    string
	Sentence string // names the pod and the cause
	Hint     string // a way out
	// Permanent: waiting cannot help, unless somebody acts within the grace.
	Permanent bool
	Grace     time.Duration // of a permanent reason; 0: the Board's, negative: none
	Since     time.Time     // by the cluster's own clock; may be zero

	vague bool // an earlier reason of the same code may say more
}

// OK reports whether nothing is in the worker's way.
func (r Reason) OK() bool { return r.Code == "" }

// Ordinary reports whether the reason is one that every start passes through.
func (r Reason) Ordinary() bool {
	switch r.Code {
	case "", Missing, Pending, ContainerCreating, Connecting, NotReady:
		return true
	case Init:
		return !r.Permanent
	}
	return false
}

// fleeting: a container that starts or ends passes through the reason.
func (r Reason) fleeting() bool { return r.Code == Unreachable || r.Code == NoWorker }

// ExitCode is the launcher's exit code when it gives up for this reason.
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

// HopelessError ends a wait early: a reason that waiting cannot help.
type HopelessError struct {
	Reason Reason
}

func (e *HopelessError) Error() string {
	return "wait for workers: " + e.Reason.Sentence
}

// Hint is what the user can do.
func (e *HopelessError) Hint() string { return e.Reason.Hint }
