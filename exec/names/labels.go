package names

// Labels that Muster sets or reads. Users read these comments in docs/reference/labels.md.
const (
	// The name of the job that a pod belongs to. Muster's controller sets it, and launchers select by
	// it (--job). In pods without a LaunchJob you set it.
	LabelJob = "muster.dev/job"
	// The role of a pod in its job: launcher, or worker. Set like muster.dev/job.
	LabelRole = "muster.dev/role"
	// The number of the worker within its role, from 0. Muster's controller sets it, and launchers
	// order the workers by it.
	LabelIndex = "muster.dev/index"
	// The original name of a pod of a LaunchJob. A replacement with another name has it too.
	LabelPod = "muster.dev/pod"
	// The attempt of a LaunchJob's pods, from 1.
	LabelAttempt = "muster.dev/attempt"
	// Selects whether an object of Kubeflow's kinds, or all of a namespace, is served in place: true
	// or false. You set it.
	LabelServe = "muster.dev/serve"

	// The number of the pod, which an Indexed Job sets. Muster reads it as the number of the worker.
	LabelCompletionIndex = "batch.kubernetes.io/job-completion-index"
	// The number of the pod, which a StatefulSet sets. Muster reads it as the number of the worker.
	LabelPodIndex = "apps.kubernetes.io/pod-index"
	// The number of the pod, which Kubeflow's training operators set. Muster reads it as the number of
	// the worker.
	LabelReplicaIndex = "training.kubeflow.org/replica-index"
	// The place of the pod in its group, which Kueue's users set. Muster orders the workers by it
	// before anything else.
	LabelKueueIndex = "kueue.x-k8s.io/pod-group-pod-index"
	// The queue of Kueue that a job is in, if gang.queue names none. Muster reads it on a LaunchJob.
	LabelKueueQueue = "kueue.x-k8s.io/queue-name"
	// The cluster from which MultiKueue has created a job on this one. MultiKueue deletes the job after it has copied the
	// end, so Muster does not, whatever its time to live is.
	LabelKueueOrigin = "kueue.x-k8s.io/multikueue-origin"
	// The place of the pod's Job in its JobSet, which JobSet sets. Muster orders the workers by it
	// before anything else, and then by their number in the Job.
	LabelJobSetIndex = "jobset.sigs.k8s.io/job-global-index"
	// The role of the pod as Kubeflow's training operators write it: master, worker, ps. Newer
	// operators write it in lower case, older ones do not. Muster reads it.
	LabelReplicaType = "training.kubeflow.org/replica-type"
)

// Annotations that Muster sets or reads. Users read these comments in docs/reference/labels.md.
const (
	// The number of slots of one pod, in place of the job's. You set it on a worker's pod.
	AnnotationSlots = "muster.dev/slots"
	// The topology labels of the pod's node, as KEY=VALUE with commas between them, for the order of
	// ranks. Muster's controller sets it. In pods without a LaunchJob you may set it.
	AnnotationTopology = "muster.dev/topology"
	// The name of a label that has the place of the pod in its group, in place of
	// kueue.x-k8s.io/pod-group-pod-index. Kueue's users set it, and Muster reads it.
	AnnotationKueueIndexLabel = "kueue.x-k8s.io/pod-group-pod-index-label"
	// The generation of the object from which a LaunchJob was created or last changed, for a job served in place. Muster's
	// controller sets it.
	AnnotationMadeFrom = "muster.dev/made-from-generation"
	// The spec from which a job's Workload of Kueue was made, as a hash. Muster's controller sets it.
	AnnotationRequest = "muster.dev/workload-request"
	// The certificate of the server to which the pod reports its progress. Muster's controller sets it.
	AnnotationProgressCA = "muster.dev/progress-ca"
	// A list of host names for one task of a converted Volcano job, mounted as a file. The file's name
	// follows. agent convert sets it.
	AnnotationVolcanoHosts = "muster.dev/volcano-"
	// The container that kubectl exec uses. Muster reads it to find the worker's container.
	AnnotationDefaultContainer = "kubectl.kubernetes.io/default-container"
)

// Roles of a pod in a job.
const (
	RoleLauncher = "launcher"
	RoleWorker   = "worker"
)

// Controller is the name of the controller in managedBy.
const Controller = "muster.dev/controller"

// DefaultDelivery is the default way to get the agent into the pods of a LaunchJob: the controller
// chooses one that works with every image and every node.
const DefaultDelivery = "auto"
