package event

import "slices"

// Kind says what happened.
type Kind string

// The kinds of events, in the order in which a run usually meets them.
const (
	JobCreated       Kind = "job-created"
	Suspended        Kind = "suspended"
	Resumed          Kind = "resumed"
	LauncherStarted  Kind = "launcher-started"
	RunStarted       Kind = "run-started"
	PodCreated       Kind = "pod-created"
	PodScheduled     Kind = "pod-scheduled"
	ImagePulling     Kind = "image-pulling"
	ImagePulled      Kind = "image-pulled"
	ContainerStarted Kind = "container-started"
	Waiting          Kind = "waiting"
	Linked           Kind = "linked"
	AllLinked        Kind = "all-linked"
	CheckStarted     Kind = "check-started"
	CheckProblem     Kind = "check-problem"
	Checked          Kind = "checked"
	CommandStarted   Kind = "command-started"
	FirstLine        Kind = "first-line"
	LinkLost         Kind = "link-lost"
	LinkBack         Kind = "link-back"
	Stalled          Kind = "stalled"
	Moving           Kind = "moving"
	Straggler        Kind = "straggler"
	Recovered        Kind = "recovered"
	Saved            Kind = "saved"
	Unsaved          Kind = "unsaved"
	Resized          Kind = "resized"
	OutOfMemory      Kind = "out-of-memory"
	BrokenDevice     Kind = "broken-device"
	StopAsked        Kind = "stop-asked"
	RankEnded        Kind = "rank-ended"
	WorkerLost       Kind = "worker-lost"
	AttemptEnded     Kind = "attempt-ended"
	Restart          Kind = "restart"
	Replaced         Kind = "replaced"
	Excluded         Kind = "node-excluded"
	Unseen           Kind = "unseen"
	RunEnded         Kind = "run-ended"
	Dropped          Kind = "events-dropped"
	Sampled          Kind = "sample"
)

// About is one entry of the table of kinds.
type About struct {
	Kind Kind
	// Of says what an event of the kind concerns: the run, a worker, or a rank.
	Of string
	// Means is a sentence about what happened.
	Means string
	// Detail says what the detail of such an event has; "": it has none.
	Detail string
}

// OnlyFirst is the Count of RankEnded for the first rank of an mpirun on a worker that ended with 0. The
// later ones have no event, so when the last rank ended is unknown.
const OnlyFirst = 1

// Values of About.Of.
const (
	OfRun    = "run"
	OfWorker = "worker"
	OfRank   = "rank"
)

// Table returns every kind, in the order in which a run usually meets them.
func Table() []About {
	return []About{
		{JobCreated, OfRun, "The LaunchJob was created. Only the short record of a LaunchJob has this event.", ""},
		{Suspended, OfRun, "The LaunchJob is suspended, so it has no pods. Only the short record has this event.", ""},
		{Resumed, OfRun, "The LaunchJob is no longer suspended. Only the short record has this event.", ""},
		{LauncherStarted, OfRun, "The container of the launcher has started. Only the short record has this event.", ""},
		{RunStarted, OfRun, "The launcher has started. The count is the number of workers that it wants.", "release of the launcher"},
		{PodCreated, OfWorker, "The worker's pod was created. A fake worker is created when its process starts.", ""},
		{PodScheduled, OfWorker, "The scheduler has chosen a node for the pod.", ""},
		{ImagePulling, OfWorker, "The node has begun to pull an image. Only slow starts have this event, because only their events are read.", "message of the kubelet"},
		{ImagePulled, OfWorker, "The node has the image.", "message of the kubelet"},
		{ContainerStarted, OfWorker, "The worker's container has started.", ""},
		{Waiting, OfWorker, "The worker is not ready for an unusual reason. The event repeats when the reason changes.", "reason"},
		{Linked, OfWorker, "The launcher's link to the worker was connected for the first time.", ""},
		{AllLinked, OfRun, "Every worker that the next attempt needs has answered. The count is their number.", ""},
		{CheckStarted, OfRun, "The preflight has begun to check workers and their network.", ""},
		{CheckProblem, OfWorker, "A check of the preflight has found a problem. Without a worker, no single one is to blame.", "finding"},
		{Checked, OfRun, "The preflight has ended.", ""},
		{CommandStarted, OfWorker, "An attempt of the command has started, and the worker takes part in it.", ""},
		{FirstLine, OfRank, "The rank has printed something for the first time in this attempt. Of an mpirun, only tags in its lines tell the rank, such as [1,3]<stdout>: or those of --output=tag, and nothing tells the worker. The first line without a tag has an event without a rank. There is no event if the launcher does not read the output, for example that to a terminal.", "for a line of no known rank: whose it is"},
		{LinkLost, OfWorker, "The link to the worker was cut. The launcher redials it.", "cause"},
		{LinkBack, OfWorker, "The link to the worker is connected again.", ""},
		{Stalled, OfRun, "The run seems to hang, or has broken a progress rule. The count is the time without progress before the event, in milliseconds.", "what was seen"},
		{Moving, OfRun, "A run that was stalled makes progress again.", "what was seen"},
		{Straggler, OfRank, "The steps of the rank have become slower than those of the others.", "by how much, and where"},
		{Recovered, OfRank, "The rank is no longer a straggler.", "its step time, and where it runs"},
		{Saved, OfRun, "The attempt has written a file that matches --progress-file. The time is that of the newest file. Files are looked up when an attempt has failed.", ""},
		{Unsaved, OfRun, "The attempt has failed, and has written no file that matches --progress-file.", ""},
		{Resized, OfWorker, "The pod of the worker was resized in place while an attempt ran, or the kubelet refuses that or puts it off.", "old and new limits, or what the kubelet says"},
		{OutOfMemory, OfWorker, "The kernel has killed a process of the worker's container for lack of memory (OOM). There is one event for each worker in an attempt.", ""},
		{BrokenDevice, OfWorker, "The attempt has failed, and a device of the worker where the failure began is broken. Devices are looked up when an attempt has failed. Without a worker, it is unknown which one has the device.", "line of the output, or what the pod's status says"},
		{StopAsked, OfRun, "The launcher has begun to stop the command.", "cause"},
		{RankEnded, OfRank, "The rank has ended. Of the ranks of an mpirun that end with 0, only the first on each worker has this event, with the count 1.", "how it ended"},
		{WorkerLost, OfWorker, "The worker was given up.", "cause"},
		{AttemptEnded, OfRun, "The attempt has ended. The count is its exit code, and the cause is one word.", "cause, if it failed"},
		{Restart, OfRun, "The launcher prepares this attempt, after another one.", "decision"},
		{Replaced, OfWorker, "Another worker, or a new pod, has the place of this one from this attempt on.", "name of the new worker, and why"},
		{Excluded, OfRun, "New pods of the job avoid a node, because pods failed there twice in the same way. Only the short record has this event.", "node, and the kind of failure"},
		{Unseen, OfWorker, "What happens to the worker from here on is unknown, because the launcher has left no report. Only the short record has this event.", ""},
		{RunEnded, OfRun, "The run has ended. The count is its exit code.", "cause, if it failed"},
		{Dropped, OfRun, "The disk was too slow or full, so that events are missing here. The count is their number.", ""},
		{Sampled, OfRun, "Numbers of the run at this time. Only agent-exporter gets them, so no file has this event.", ""},
	}
}

// Known reports whether this release knows the kind.
func (k Kind) Known() bool {
	return slices.ContainsFunc(Table(), func(a About) bool { return a.Kind == k })
}
