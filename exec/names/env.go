package names

// Environment variables that Muster reads or sets.
const (
	// EnvJob is the name of the job. Without --selector it also selects the workers.
	EnvJob = "MUSTER_JOB"
	// EnvNamespace is the namespace of the job; default: the pod's own.
	EnvNamespace = "MUSTER_NAMESPACE"
	// EnvWorkers is the number of workers that the launcher waits for.
	EnvWorkers = "MUSTER_WORKERS"
	// EnvPods lists the workers' pods by name, for a launcher without the right to list pods.
	EnvPods = "MUSTER_PODS"
	// EnvSlots is the number of slots of each worker.
	EnvSlots = "MUSTER_SLOTS"
	// EnvPodUID is the pod's uid, from the downward API. It is part of the epoch.
	EnvPodUID = "MUSTER_POD_UID"
	// EnvPodName is the pod's name, from the downward API; default: the host name.
	EnvPodName = "MUSTER_POD_NAME"
	// EnvPodIP is the pod's address, from the downward API.
	EnvPodIP = "MUSTER_POD_IP"
	// EnvDir is the private directory of sockets and spools; see package rundir.
	EnvDir = "MUSTER_DIR"
	// EnvBroker is the path of the launcher's broker socket, for `agent rsh`.
	EnvBroker = "MUSTER_BROKER"
	// EnvSession marks every process of a session with the session's id. orted leaves its process
	// group and session, but keeps the environment.
	EnvSession = "MUSTER_SESSION"
	// EnvWorker is the name of the worker. Only sessions have it, because Hydra copies the
	// launcher's environment over the worker's.
	EnvWorker = "MUSTER_WORKER"
	// EnvFake marks every process inside a fake worker, like the boundary of a container: a
	// simulated kill and the end of the worker stop all of them. No flag has this variable, so that
	// `agent` inside does not start fake workers itself.
	EnvFake = "MUSTER_FAKE_WORKER"
	// EnvToken is the token of a job without a launcher. The user's processes do not get it.
	EnvToken = "MUSTER_TOKEN"
	// EnvKeyFile is the path of the launcher's or the worker's key of the job, for connections by the
	// pod network.
	EnvKeyFile = "MUSTER_KEY_FILE"
	// EnvListen is the address where a worker with a key listens.
	EnvListen = "MUSTER_LISTEN"
	// EnvPodIndex is the index of the pod, which the downward API takes from LabelPodIndex of
	// StatefulSets.
	EnvPodIndex = "MUSTER_POD_INDEX"
	// EnvCompletionIndex is set by Indexed Jobs.
	EnvCompletionIndex = "JOB_COMPLETION_INDEX"
	// EnvConfig is the path of the file of settings, in place of muster.yaml beside the caller.
	EnvConfig = "MUSTER_CONFIG"
	// EnvOutput is --output of agent run; OutputTag has it put the rank before each line.
	EnvOutput = "MUSTER_OUTPUT"
	OutputTag = "tag"
	// EnvLogFormat is --log-format of agent run. LogJSON makes each line of the log a JSON object.
	EnvLogFormat = "MUSTER_LOG_FORMAT"
	LogJSON      = "json"
	// EnvTrainerURL is where programs report their progress. EnvTrainerCA and EnvTrainerToken are the
	// paths of the server's certificate and of a token. The names and the form of reports are Kubeflow
	// Trainer's (KEP-2779), so that its clients and Hugging Face's callback work unchanged.
	EnvTrainerURL   = "KUBEFLOW_TRAINER_SERVER_URL"
	EnvTrainerCA    = "KUBEFLOW_TRAINER_SERVER_CA_CERT"
	EnvTrainerToken = "KUBEFLOW_TRAINER_SERVER_TOKEN"
	// EnvAttempt is the number of the attempt, from 0.
	EnvAttempt = "MUSTER_ATTEMPT"
	// EnvTraceParent is the trace context of the run's own span, for the program that exports it.
	EnvTraceParent = "MUSTER_TRACEPARENT"
)

// Paths inside the pods.
const (
	// AgentPath is the path of an injected agent.
	AgentPath = "/muster/agent"
	// MPIDir holds hostfile, kubexec.sh and discover_hosts.sh: the paths in the manifests of
	// mpi-operator v1 users.
	MPIDir = "/etc/mpi"
	// TerminationLog is where the kubelet reads the termination message of a container.
	TerminationLog = "/dev/termination-log"
	// WorkerSocket and BrokerSocket are file names in the private directory.
	WorkerSocket = "worker.sock"
	BrokerSocket = "broker.sock"
)

// JoinPort is the default port of rank 0 in a job without a launcher. NetworkPort is the default
// port of workers for launchers that connect by the pod network.
const (
	JoinPort    = 9377
	NetworkPort = 9378
)
