package names

// Labels that Muster reads from pods.
const (
	// LabelJob names the job that a pod belongs to.
	LabelJob = "muster.dev/job"
	// LabelRole is the role of the pod in its job: RoleLauncher or RoleWorker.
	LabelRole = "muster.dev/role"
	// LabelIndex is the number of the worker within its role, from 0.
	LabelIndex = "muster.dev/index"
	// LabelPod is the original name of a pod of a job. A replacement with another name has it too.
	LabelPod = "muster.dev/pod"
	// LabelAttempt counts the attempts of a LaunchJob's pods, from 1.
	LabelAttempt = "muster.dev/attempt"
	// LabelServe on an object of Kubeflow's kinds, or on a namespace, selects whether they are served
	// in place: true or false.
	LabelServe = "muster.dev/serve"

	// Index labels that other controllers set; package rendezvous has their order of precedence.
	LabelCompletionIndex = "batch.kubernetes.io/job-completion-index"
	LabelPodIndex        = "apps.kubernetes.io/pod-index"
	LabelReplicaIndex    = "training.kubeflow.org/replica-index"
	// LabelReplicaType is the role as the Kubeflow training operators write it: "master", "worker",
	// "ps". Newer operators write it in lower case, older ones do not.
	LabelReplicaType = "training.kubeflow.org/replica-type"

	// AnnotationDefaultContainer names the container that kubectl exec uses.
	AnnotationDefaultContainer = "kubectl.kubernetes.io/default-container"
)

// Roles of a pod in a job.
const (
	RoleLauncher = "launcher"
	RoleWorker   = "worker"
)

// Controller is the name of the controller in managedBy.
const Controller = "muster.dev/controller"

// DefaultDelivery is the default way to get the agent into the pods of a LaunchJob. It works with
// every image.
const DefaultDelivery = "init"
