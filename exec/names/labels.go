package names

// Labels that Muster reads from pods.
const (
	// LabelJob names the job that a pod belongs to.
	LabelJob = "muster.dev/job"
	// LabelRole is the pod's role in its job: RoleLauncher or RoleWorker.
	LabelRole = "muster.dev/role"
	// LabelIndex is the worker's number within its role, from 0.
	LabelIndex = "muster.dev/index"
	// LabelPod is the plain name of a job's pod: a replacement that had to take
	// another name has it too.
	LabelPod = "muster.dev/pod"
	// LabelAttempt counts the runs of a LaunchJob's pods, from 1.
	LabelAttempt = "muster.dev/attempt"
	// LabelServe has an object of Kubeflow's kinds, or those of a namespace, served in
	// place: true, or false.
	LabelServe = "muster.dev/serve"

	// Index labels that others set; see rendezvous for the order in which they count.
	LabelCompletionIndex = "batch.kubernetes.io/job-completion-index"
	LabelPodIndex        = "apps.kubernetes.io/pod-index"
	LabelReplicaIndex    = "training.kubeflow.org/replica-index"
	// LabelReplicaType is the role as the Kubeflow training operators write it:
	// "master", "worker", "ps"; newer ones in lower case, older ones not.
	LabelReplicaType = "training.kubeflow.org/replica-type"

	// AnnotationDefaultContainer names the container that kubectl exec takes.
	AnnotationDefaultContainer = "kubectl.kubernetes.io/default-container"
)

// Roles of a pod in a job.
const (
	RoleLauncher = "launcher"
	RoleWorker   = "worker"
)

// Controller is the controller's name in managedBy.
const Controller = "muster.dev/controller"

// DefaultDelivery is how the agent gets into a LaunchJob's pods when nobody says: it works with every image.
const DefaultDelivery = "init"
