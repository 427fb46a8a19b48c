package names

// Environment variables that Muster reads or sets.
const (
	// EnvJob is the job's name; without --selector it also selects the workers.
	EnvJob = "MUSTER_JOB"
	// EnvNamespace is the job's namespace; default: the pod's own.
	EnvNamespace = "MUSTER_NAMESPACE"
	// EnvWorkers is how many workers the launcher waits for.
	EnvWorkers = "MUSTER_WORKERS"
	// EnvPods lists the workers' pods by name, for a launcher that may not list
	// those of its namespace.
	EnvPods = "MUSTER_PODS"
	// EnvSlots is the number of slots of each worker.
	EnvSlots = "MUSTER_SLOTS"
	// EnvPodUID is the pod's uid by the downward API; it is part of the epoch.
	EnvPodUID = "MUSTER_POD_UID"
	// EnvPodName is the pod's name by the downward API; default: the host name.
	EnvPodName = "MUSTER_POD_NAME"
	// EnvPodIP is the pod's address by the downward API.
	EnvPodIP = "MUSTER_POD_IP"
	// EnvDir is the private directory of sockets and spools; see Dirs.
	EnvDir = "MUSTER_DIR"
	// EnvBroker is the path of the launcher's broker socket, for `agent rsh`.
	EnvBroker = "MUSTER_BROKER"
	// EnvSession marks every process of a session with the session's id:
	// orted leaves its process group and session, the environment stays.
	EnvSession = "MUSTER_SESSION"
	// EnvWorker is the worker's name, in its sessions only: Hydra copies the
	// launcher's environment over the worker's.
	EnvWorker = "MUSTER_WORKER"
	// EnvFake marks everything that runs "in" a fake worker, as a container's
	// boundary would: a rehearsed kill and the end take all of it. It is no flag's
	// variable: `agent` in there is not asked to start workers of its own.
	EnvFake = "MUSTER_FAKE_WORKER"
	// EnvToken is the token of a job without a launcher; our processes do not get it.
	EnvToken = "MUSTER_TOKEN"
	// EnvPodIndex is the pod's number by the downward API, from the label
	// LabelPodIndex of StatefulSets.
	EnvPodIndex = "MUSTER_POD_INDEX"
	// EnvCompletionIndex is set by Indexed Jobs.
	EnvCompletionIndex = "JOB_COMPLETION_INDEX"
	// EnvOutput is --output of agent run; OutputTag has it put the rank before each line.
	EnvOutput = "MUSTER_OUTPUT"
	OutputTag = "tag"
	// EnvLogFormat is --log-format of agent run; LogJSON makes every line of ours JSON.
	EnvLogFormat = "MUSTER_LOG_FORMAT"
	LogJSON      = "json"
	// EnvAttempt counts the runs of the group, from 0.
	EnvAttempt = "MUSTER_ATTEMPT"
)

// Paths inside the pods.
const (
	// AgentPath is where an injected agent lies.
	AgentPath = "/muster/agent"
	// MPIDir holds hostfile, kubexec.sh and discover_hosts.sh, the paths that
	// mpi-operator v1 users have in their manifests.
	MPIDir = "/etc/mpi"
	// TerminationLog is where the kubelet reads a container's last words.
	TerminationLog = "/dev/termination-log"
	// WorkerSocket and BrokerSocket are file names within the private directory.
	WorkerSocket = "worker.sock"
	BrokerSocket = "broker.sock"
)

// JoinPort is where rank 0 of a job without a launcher listens, unless told otherwise.
const JoinPort = 9377
