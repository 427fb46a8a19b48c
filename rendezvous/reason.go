package rendezvous

import (
	"time"

	"github.com/musterhq/muster/exec/names"
)

// Code is one word for why a worker is not ready.
type Code string

// Reasons. Explain returns those from a pod's status. Those of the link have constructors in
// link.go.
const (
	Missing            Code = "Missing" // there is no pod yet
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

	Connecting      Code = "Connecting" // the container runs, but its agent has not answered yet
	NoWorker        Code = "NoWorker"   // the container has the agent, but does not run `agent worker`
	NoAgent         Code = "NoAgent"    // the container has no agent
	RshAgentMissing Code = "RshAgentMissing"
	Forbidden       Code = "Forbidden"
	Unauthorized    Code = "Unauthorized"
	Incompatible    Code = "Incompatible"
	Superseded      Code = "Superseded"
	Unreachable     Code = "Unreachable"

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
