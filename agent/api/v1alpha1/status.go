package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Types of conditions. kubectl wait --for=condition=Succeeded waits for one.
const (
	Suspended    = "Suspended"    // the user has suspended the job, so there are no pods
	Admitted     = "Admitted"     // Kueue has admitted the job, so there may be pods
	WorkersReady = "WorkersReady" // the containers of all workers run
	Launched     = "Launched"     // the launcher runs, and had all workers
	Restarting   = "Restarting"   // pods are being replaced, or the launcher has just started another attempt
	Stalled      = "Stalled"      // the launcher reports that the run hangs
	Succeeded    = "Succeeded"
	Failed       = "Failed"
)

// Phases, as kubectl get shows them. Conditions are for programs.
const (
	PhaseSuspended  = "Suspended"
	PhaseWaiting    = "Waiting"
	PhaseRunning    = "Running"
	PhaseRestarting = "Restarting"
	PhaseSucceeded  = "Succeeded"
	PhaseFailed     = "Failed"
)

// LaunchJobStatus is the observed state of a LaunchJob.
type LaunchJobStatus struct {
	// Conditions of the job: Suspended, Admitted (by Kueue), WorkersReady, Launched, Restarting, Stalled, Succeeded, Failed.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Suspended: the user has suspended the job, so there are no pods. Waiting: pods are created, scheduled and started. Running: launcher and workers run. Restarting: pods are being replaced. Succeeded and Failed: the job has ended.
	// +optional
	Phase string `json:"phase,omitempty"`
	// Workers whose own container is ready, of the number wanted: 12/16.
	// +optional
	Ready string `json:"ready,omitempty"`
	// Spares whose own container is ready, of the number wanted: 1/2.
	// +optional
	Spares string `json:"spares,omitempty"`
	// One word for why the job does not run, or how it ended.
	// +optional
	Reason string `json:"reason,omitempty"`
	// The reason as a sentence.
	// +optional
	Message string `json:"message,omitempty"`
	// How far the program is, by its last report: step 1,200/5,000, ETA 3h.
	// +optional
	Progress string `json:"progress,omitempty"`
	// The last report of the program, or of the launcher by the rules in spec.progress. It has the form of Kubeflow Trainer.
	// +optional
	TrainerStatus *TrainerStatus `json:"trainerStatus,omitempty"`
	// Attempt of the pods, from 1. Attempts that the agent starts in the same pods are in failedAttempts.
	// +optional
	Attempt int32 `json:"attempt,omitempty"`
	// How many attempts ended because Kueue took the job's pods away. They do not count against backoffLimit.
	// +optional
	Evictions int32 `json:"evictions,omitempty"`
	// Share of the workers' time that was work which was kept: 93.1%. It is set when a launcher has ended.
	// +optional
	Goodput string `json:"goodput,omitempty"`
	// The backend that was chosen for gang.backend auto, or because a label names a queue. It stays until the job is suspended.
	// +optional
	Gang string `json:"gang,omitempty"`
	// What the workers' time was spent on, by class, summed over the launchers that have ended.
	// +optional
	// +listType=map
	// +listMapKey=class
	Spent []TimeSpent `json:"spent,omitempty"`
	// Counts of the pods of each role.
	// +optional
	// +listType=map
	// +listMapKey=name
	Roles []RoleStatus `json:"roles,omitempty"`
	// The first failure of the job.
	// +optional
	FirstFailure *FirstFailure `json:"firstFailure,omitempty"`
	// How each attempt of the pods, and of the agent within them, failed; the oldest first. If there are more than 16: the first 8 and the last 8. The agent's own attempts are added when the launcher has ended.
	// +optional
	// +listType=atomic
	FailedAttempts []FailedAttempt `json:"failedAttempts,omitempty"`
	// Replaced pods, the newest last, at most 64.
	// +optional
	// +listType=atomic
	Replaced []Replaced `json:"replaced,omitempty"`
	// Nodes that new pods of the job avoid, because pods failed there twice in the same way. Empty the list to use the nodes again.
	// +optional
	// +listType=map
	// +listMapKey=node
	// +kubebuilder:validation:MaxItems=64
	ExcludedNodes []ExcludedNode `json:"excludedNodes,omitempty"`
	// How many failures of pods of this attempt count against maxRestarts. Pods that fail together count once.
	// +optional
	Replacements int32 `json:"replacements,omitempty"`
	// +optional
	Agent *AgentStatus `json:"agent,omitempty"`
	// The Secret with the token that the members of a job without a launcher share, or with the keys of a job whose launcher reaches workers by network.
	// +optional
	TokenSecret string `json:"tokenSecret,omitempty"`
	// When the controller first created pods, since the job was last suspended, or queued by Kueue.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// When the job ended.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// The short record of what happened, from which agent timeline draws a job whose launcher is not there.
	// +optional
	Timeline *Timeline `json:"timeline,omitempty"`
	// Ranks whose container ended with 0 in this attempt, as in 0-2,7, if the image of the pods starts its own command. Such a pod is not created again if it is removed, because its work is done.
	// +optional
	Completed string `json:"completed,omitempty"`
	// Pods of the role worker, for kubectl scale.
	// +optional
	Workers int32 `json:"workers,omitempty"`
	// Label selector of these pods, for autoscalers.
	// +optional
	Selector string `json:"selector,omitempty"`
	// The generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// TrainerStatus is a report of a program about how far it is.
type TrainerStatus struct {
	// From 0 to 100.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	ProgressPercentage *int32 `json:"progressPercentage,omitempty"`
	// The program's own estimate.
	// +optional
	// +kubebuilder:validation:Minimum=0
	EstimatedRemainingSeconds *int32 `json:"estimatedRemainingSeconds,omitempty"`
	// Numbers of the program: current_step, total_steps, loss.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Metrics []TrainerMetric `json:"metrics,omitempty"`
	// When the report came.
	LastUpdatedTime metav1.Time `json:"lastUpdatedTime"`
}

// TrainerMetric is a number of a program.
type TrainerMetric struct {
	// Name of the number, as the program calls it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Name string `json:"name"`
	// The number as text.
	// +kubebuilder:validation:MaxLength=128
	Value string `json:"value"`
}

// TimeSpent is the time of all workers in one class.
type TimeSpent struct {
	// The class: productive, stalled, lost and others.
	Class string `json:"class"`
	// Seconds, summed over the workers.
	Seconds int64 `json:"seconds"`
}

// RoleStatus counts the pods of one role.
type RoleStatus struct {
	// The role's name, launcher for the launcher.
	Name string `json:"name"`
	// Pods that the role should have.
	Desired int32 `json:"desired"`
	// Pods whose own container has not ended.
	Active int32 `json:"active"`
	// Pods whose own container is ready.
	Ready int32 `json:"ready"`
	// Pods whose own container ended with 0.
	Succeeded int32 `json:"succeeded"`
	// Pods whose own container ended with another exit code.
	Failed int32 `json:"failed"`
}

// FirstFailure is the end of the first container that failed.
type FirstFailure struct {
	// Rank of the process, if the agent has named it.
	// +optional
	Rank *int32 `json:"rank,omitempty"`
	// The pod that the container or the process was in.
	// +optional
	Pod string `json:"pod,omitempty"`
	// The container's exit code.
	ExitCode int32 `json:"exitCode"`
	// The container's last message: its termination message, or the end of its log.
	// +optional
	Message string `json:"message,omitempty"`
}

// FailedAttempt is the end of an attempt that failed.
type FailedAttempt struct {
	// Attempt of the pods, from 1, as in attempt of the status.
	Attempt int32 `json:"attempt"`
	// The agent's own attempt in these pods, from 0, as in MUSTER_ATTEMPT.
	// +optional
	Restart int32 `json:"restart,omitempty"`
	// The first failure in it.
	FirstFailure `json:",inline"`
}

// Replaced describes a pod that was replaced.
type Replaced struct {
	// The name of the pod that was lost.
	Pod string `json:"pod"`
	// Its UID.
	UID string `json:"uid"`
	// Why it was replaced: how it was lost, or how it ended.
	Reason string `json:"reason"`
	// When the controller decided to replace it.
	Time metav1.Time `json:"time"`
	// The node that the pod was on.
	// +optional
	Node string `json:"node,omitempty"`
	// The fault of the node: lost (it went down), preflight (the worker failed a check), or device (broken hardware). It is empty if the program may be at fault.
	// +optional
	Cause string `json:"cause,omitempty"`
	// When it failed, if that counts against maxRestarts. Pods that failed within a minute of it do not count again.
	// +optional
	FailedAt metav1.Time `json:"failedAt,omitzero"`
}

// ExcludedNode describes a node that new pods of the job avoid.
type ExcludedNode struct {
	// The name of the node.
	Node string `json:"node"`
	// What happened there twice: lost, preflight or device.
	// +optional
	Cause string `json:"cause,omitempty"`
	// When the node was excluded.
	// +optional
	Time metav1.Time `json:"time,omitzero"`
}

// AgentStatus reports which agent and which images ran.
type AgentStatus struct {
	// Version of the controller, whose agent is injected.
	// +optional
	Version string `json:"version,omitempty"`
	// Images of the roles' own containers, as the nodes resolved them.
	// +optional
	// +listType=set
	Images []string `json:"images,omitempty"`
}

// Timeline is the short record of a job: at most 32 events, and 2 KiB as JSON. The attempts of a launcher are
// added when the launcher has ended.
type Timeline struct {
	// What happened, attempt by attempt.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Events []TimelineEvent `json:"events,omitempty"`
	// How many of the oldest attempts were left out, so that the record stays short.
	// +optional
	OmittedAttempts int32 `json:"omittedAttempts,omitempty"`
}

// TimelineEvent is one event of the short record of a job.
type TimelineEvent struct {
	// When it happened. Times have whole seconds.
	Time metav1.Time `json:"time"`
	// What happened, as in docs/reference/events.md. An event of pods is that of the last pod.
	Kind string `json:"kind"`
	// Attempt of the pods, from 1, as in attempt of the status.
	Attempt int32 `json:"attempt"`
	// The agent's own attempt in these pods, from 0, as in MUSTER_ATTEMPT.
	// +optional
	Restart int32 `json:"restart,omitempty"`
	// The last pod for which it happened.
	// +optional
	Pod string `json:"pod,omitempty"`
	// The node of that pod.
	// +optional
	Node string `json:"node,omitempty"`
	// The number of pods, or the exit code of what ended.
	// +optional
	Count int32 `json:"count,omitempty"`
	// Why, in one word.
	// +optional
	Cause string `json:"cause,omitempty"`
	// Why, as the beginning of a sentence.
	// +optional
	Detail string `json:"detail,omitempty"`
}
