package controller

// Reasons in the status, the conditions and the events of a LaunchJob, besides those of package
// rendezvous. Users read these comments in docs/reference/reasons.md.
const (
	// The launcher, or the member whose end counts, ended with exit code 0.
	reasonCompleted = "Completed"
	// The launcher or a member failed, and no restart is left. status.firstFailure says what failed first.
	reasonExited = "Failed"
	// The job did not end within runPolicy.activeDeadlineSeconds.
	reasonDeadline = "DeadlineExceeded"
	// The controller does not create pods for this spec. The message says what to change.
	reasonRefused = "Refused"
	// The API server rejected an object of the job: a quota, an admission policy, a missing right.
	reasonRejected = "Rejected"
	// An object with a name that the job needs belongs to another owner.
	reasonTaken = "NameTaken"
	// The cluster does not have the scheduler that gang.backend names.
	reasonNoGang = "NoGangScheduler"
	// A backend was chosen for gang.backend auto. The message says why. Only events have this reason.
	reasonChosen = "GangChosen"
	// The gang's scheduler reports that the pods do not fit together. The message has its words.
	reasonGang = "GangUnschedulable"
	// Kueue has admitted the job. Only the condition Admitted has this reason.
	reasonAdmitted = "Admitted"
	// The queue of Kueue does not exist, or is stopped. The message has Kueue's words.
	reasonNoQueue = "QueueUnavailable"
	// Kueue has taken the job's quota for another job. The pods are deleted, and the job is queued again.
	reasonPreempted = "Preempted"
	// Kueue has taken the job's quota back: an administrator stopped the job or its queue, a node failed, or an
	// admission check no longer holds. The pods are deleted.
	reasonEvicted = "Evicted"
	// The Workload that a label of the job names does not exist, or asks for other pods than the job.
	reasonNoWorkload = "WorkloadMissing"
	// Kueue has admitted fewer workers than the job wants. The job runs with these.
	reasonFewer = "FewerWorkers"
	// runPolicy.suspend is true. The job has no pods.
	reasonSuspended = "Suspended"
	// runPolicy.suspend is no longer true.
	reasonResumed = "Resumed"
	// The last attempt failed, and runPolicy.backoffLimit allows another with new pods.
	reasonAgain = "PodsMadeAnew"
	// The launcher and all workers run, or all members run.
	reasonLaunched = "Launched"
	// The containers of all workers run.
	reasonReady = "Ready"
	// The controller is creating pods.
	reasonWaiting = "Waiting"
	// A worker is lost and restartPolicy.maxRestarts is used up. The launcher ends the run.
	reasonLost = "WorkerLost"
	// The job has more workers than the controller's --max-workers allows.
	reasonTooLarge = "TooLarge"
	// The controller failed several times in a row to work on the job. The message has the error.
	reasonFailing = "ReconcileFailed"
	// A check of workers or of their network failed before ranks started (spec.preflight.mode: fail).
	reasonPreflight = "PreflightFailed"
	// The launcher reports that the run hangs.
	reasonHang = "Hang"
	// The launcher reports that the output broke a rule of spec.progress.
	reasonStall = "NoProgress"
	// The launcher started another attempt in the same pods.
	reasonRestart = "Restarted"
	// The run no longer hangs.
	reasonMoves = "Moving"
	// The controller may not read nodes or patch pods, so the ranks of jobs do not follow the topology.
	// Only events have this reason.
	reasonNoTopology = "TopologyUnknown"
	// A lost or failed pod is being replaced. Only events have this reason.
	reasonReplaced = "PodReplaced"
	// Pods failed twice on a node in the same way, so new pods of the job avoid it. Only events have this
	// reason.
	reasonExcluded = "NodeExcluded"
	// Pods failed twice on a node in the same way, but new pods may still go there: the limit is reached,
	// or Kueue has chosen the nodes. Only events have this reason.
	reasonNotExcluded = "NodeNotExcluded"
)
