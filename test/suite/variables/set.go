package variables

// Secret is the example of a value from a Secret.
const Secret = "from a Secret"

// Set is a variable that Muster sets, besides those of frameworks.
type Set struct {
	Row
	// In lists the packages that set it, separated by blanks.
	In string
}

// Always lists the variables that do not depend on the framework.
func Always() []Set {
	const (
		command = "the command in the launcher"
		fake    = "`agent worker` and every process of a fake worker"
		ranks   = "every process on a worker or member"
	)
	return []Set{
		{Row{"MUSTER_ATTEMPT", "0", command + ", and every process on a worker or member", "number of the attempt, from 0"}, "agent/join agent/launch agent/launch/plan"},
		{Row{"MUSTER_SESSION", "9f86d081884c7d659a2feaa0c55ad015", ranks, "session or process to which it belongs: Muster stops what is left of it"}, "exec/proc"},
		{Row{"MUSTER_WORKER", "train-worker-1", ranks, "name of the worker"}, "agent/launch/fleet agent/worker"},
		{Row{"PYTHONPATH", "/run/muster/laid-1", "every process on a worker, unless `--stacks=never`", "directory of a module that reports the stacks of Python ranks; your own value follows it"}, "exec/session"},
		{Row{"HOME", "/run/muster", ranks + ", if it has none", "private directory"}, "agent/worker"},
		{Row{"TMPDIR", "/run/muster/tmp", ranks + ", if it has none and `/tmp` cannot be written", "directory of temporary files"}, "agent/worker"},
		{Row{"MUSTER_BROKER", "/run/muster/broker.sock", command, "the launcher's socket, for `agent rsh`"}, "agent/launch/plan"},
		{Row{"NCCL_DEBUG", "INFO", command + ", and every process on a worker, with `--require-rdma`", "makes NCCL print the network that it uses"}, "agent/controller agent/launch/plan agent/submit"},
		{Row{"MUSTER_RUN", "k3bqhz7wpa", command + ", and plugins", "run to which it belongs: Muster stops what is left of it"}, "agent/launch/command"},
		{Row{"MUSTER_LOG_FORMAT", "json", command + ", with `--log-format=json`", "makes `agent rsh` write JSON too"}, "agent/launch"},
		{Row{"PATH", "/run/muster/shims:/usr/bin:/bin", command + ", with `--shims`", "directory in which `ssh`, `rsh` and `pdsh` are the agent, before your own value"}, "agent/launch/files"},
		{Row{"TRACEPARENT", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", command + ", and every process on a worker, in a trace", "trace context of the attempt's span; the caller's own, if the run is not traced. The launcher itself gets that of its pods, if the controller sends traces"}, "agent/controller/trace agent/launch/plan agent/tracecontext"},
		{Row{"TRACESTATE", "vendor=1", command + ", and every process on a worker, in a trace with a state", "the state that belongs to `TRACEPARENT`"}, "agent/controller/trace agent/launch/plan agent/tracecontext"},
		{Row{"MUSTER_JOB", "train", "`agent-exporter`", "name of the job, for the trace"}, "agent/launch"},
		{Row{"MUSTER_NAMESPACE", "team", "`agent-exporter`", "namespace of the job, for the trace"}, "agent/launch"},
		{Row{"MUSTER_TRACEPARENT", "00-4bf92f3577b34da6a3ce929d0e0e4736-d75597dee50b0cac-01", "`agent-exporter`, in a trace", "trace context of the run's own span"}, "agent/tracecontext"},
		{Row{"MUSTER_PLUGIN_COOKIE", "framework", "plugins", "says that Muster started the plugin"}, "agent/framework/plugin"},
		{Row{"MUSTER_DIR", "/run/muster/fake-1/w0", fake, "private directory of the worker"}, "agent/launch/fleet"},
		{Row{"MUSTER_SLOTS", "1", fake, "slots of the worker"}, "agent/launch/fleet"},
		{Row{"MUSTER_KEY_FILE", "/run/muster/fake-1/worker.key", fake + ", with `--transport=network`", "path of the worker's key"}, "agent/launch/fleet"},
		{Row{"MUSTER_LISTEN", "127.0.0.1:0", fake + ", with `--transport=network`", "address where the worker listens"}, "agent/launch/fleet"},
		{Row{"MUSTER_FAKE_WORKER", "k3bqhz7wpa-0-127.0.0.2", fake, "worker to which it belongs: a simulated kill stops all of its processes"}, "agent/launch/fleet"},
	}
}

// ByController lists the variables that the controller puts into pods, without those of settings.
func ByController() []Set {
	const (
		all    = "every pod"
		member = "members"
		in     = "agent/controller"

		reporters = "launcher with `progress`, every pod with `reportProgress`"
		progress  = "agent/controller/progress"
	)
	return []Set{
		{Row{"MUSTER_POD_NAME", "train-worker-1", all, "name of the pod"}, in},
		{Row{"MUSTER_NAMESPACE", "team", all, "namespace of the pod"}, in},
		{Row{"MUSTER_POD_UID", "0b0cf4f1-…", all, "uid of the pod"}, in},
		{Row{"MUSTER_POD_IP", "10.244.1.11", all, "address of the pod"}, in},
		{Row{"MUSTER_JOB", "train", "launcher, workers, members", "name of the job"}, in},
		{Row{"MUSTER_TIMEOUT", "0s", "launcher, members", "no limit for the wait: `activeDeadlineSeconds` limits the job"}, in},
		{Row{"MUSTER_WORKERS", "2", "launcher, without `elastic`", "number of workers"}, in},
		{Row{"MUSTER_SLOTS", "1", "launcher, without `slots`", "slots of each worker"}, in},
		{Row{"MUSTER_PODS", "train-worker-0,train-worker-1", "launcher, with `discovery: names`", "names of the workers"}, in},
		{Row{"MUSTER_TOKEN", Secret, member + ", if there are several", "token that members prove to each other"}, "agent/controller/children"},
		{Row{"MUSTER_KEY_FILE", "/var/run/secrets/muster.dev/key/worker.key", "launcher and workers, with `transport: network` or `auto`", "path of the launcher's or the worker's key"}, "agent/controller/children"},
		{Row{"MUSTER_GRACE", "25s", member, "grace of the pod, which a member cannot read"}, in},
		{Row{"KUBEFLOW_TRAINER_SERVER_URL", "https://muster-controller.muster-system.svc:8443/apis/…", reporters, "where the pod reports its [progress](../guides/progress.md)"}, progress},
		{Row{"KUBEFLOW_TRAINER_SERVER_CA_CERT", "/var/run/secrets/muster.dev/progress/ca.crt", reporters, "certificate of that server"}, progress},
		{Row{"KUBEFLOW_TRAINER_SERVER_TOKEN", "/var/run/secrets/muster.dev/progress/token", reporters, "file with the pod's token for that server"}, progress},
		{Row{"MUSTER_TERMINATION_LOG", "", member, "no termination message: Kubernetes takes the end of the log"}, in},
	}
}

// BySubmit lists the variables that agent submit writes into a LaunchJob, without those of settings.
func BySubmit() []Set {
	const (
		clone = "init container of `--sync-source`"
		in    = "agent/submit"
	)
	return []Set{
		{Row{"MUSTER_HANG_ACTION", "stop", "launcher, with `--hang-action`", "what follows a hang"}, in},
		{Row{"MUSTER_OUTPUT", "tag", "launcher that runs mpirun, unless `--rank-tags=false`", "puts the rank before each line"}, in},
		{Row{"GIT_SYNC_REPO", "https://example.com/team/train.git", clone, "`--sync-source`"}, in},
		{Row{"GIT_SYNC_BRANCH", "main", clone, "`--sync-branch`"}, in},
		{Row{"GIT_SYNC_USERNAME", Secret, clone, "user of `--sync-secret`"}, in},
		{Row{"GIT_SYNC_PASSWORD", Secret, clone, "password of `--sync-secret`"}, in},
		{Row{"GIT_SYNC_ROOT", "/code", clone, "directory of the code"}, in},
		{Row{"GIT_SYNC_DEST", "train", clone, "directory of the repository in it"}, in},
		{Row{"GIT_SYNC_DEPTH", "1", clone, "number of commits to fetch"}, in},
		{Row{"GIT_SYNC_ONE_TIME", "true", clone, "ends after the first fetch"}, in},
		{Row{"GIT_TERMINAL_PROMPT", "0", clone, "makes git fail instead of asking for a password"}, in},
		{Row{"HOME", "/tmp", clone, "directory that git may write"}, in},
	}
}

// ByConvert lists the variables that agent convert writes into a LaunchJob.
func ByConvert() []Set {
	const (
		volcano = "pods of a Volcano Job"
		torch   = "workers of a PyTorchJob with `elasticPolicy`"
		in      = "agent/kubeflow"
	)
	return []Set{
		{Row{"MPI_HOST", "train-worker-0.train,train-worker-1.train", "launcher of a Volcano Job with the plugin `mpi`", "hosts of the workers"}, in},
		{Row{"VC_…_HOSTS", "train-worker-0.train,train-worker-1.train", volcano + " with the plugin `svc`", "hosts of the task with that name"}, in},
		{Row{"VC_…_NUM", "2", volcano + " with the plugin `svc`", "number of pods of the task with that name"}, in},
		{Row{"VC_TASK_INDEX", "0", volcano + " with the plugin `env`", "number of the pod in its task"}, in},
		{Row{"VK_TASK_INDEX", "0", volcano + " with the plugin `env`", "the same, under its older name"}, in},
		{Row{"PET_MAX_RESTARTS", "3", torch, "`maxRestarts`"}, in},
		{Row{"PET_NNODES", "1:2", torch, "`minReplicas` and `maxReplicas`"}, in},
		{Row{"PET_NPROC_PER_NODE", "4", "pods of a PyTorchJob with `nprocPerNode`", "number of processes that torchrun starts in the pod"}, in},
		{Row{"PET_RDZV_BACKEND", "c10d", torch, "`rdzvBackend`"}, in},
		{Row{"PET_RDZV_CONF", "timeout=900", torch, "`rdzvConf`"}, in},
		{Row{"PET_RDZV_ENDPOINT", "train-worker-0.train:23456", torch, "`rdzvHost` and `rdzvPort`"}, in},
		{Row{"PET_RDZV_ID", "train", torch, "`rdzvId`"}, in},
		{Row{"PET_STANDALONE", "", torch, "`standalone`"}, in},
	}
}
