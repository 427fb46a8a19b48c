package variables

import (
	"slices"
	"strings"
)

// Read is a variable that the product reads.
type Read struct {
	Name string
	By   string // the verbs and programs that read it
	// Default is what counts if the variable is not set, and Same the flag that says the same.
	Default, Same string
	Meaning       string
	// In lists the packages that read it, separated by blanks.
	In string
}

const (
	launching = "`agent run`, `env`, `hosts`"
	toCluster = launching + ", the verbs for jobs, `controller`"
	pdsh      = "`pdsh`, which is the agent"
	settled   = "every verb except `join`, `worker`, `rsh`, `ready`, `install`"
	tracing   = "`agent run`"
	exporting = "`agent-exporter`"
	private   = launching + ", `join`, `worker`, `rsh`, `ready`"
)

// Own lists the variables that programs read from their own environment, except for variables of
// settings that nothing reads by name. See agent/settings.
func Own() []Read {
	others := slices.Concat(ofCluster(), ofShell(), ofTraces(), ofBuckets())
	slices.SortFunc(others, func(a, b Read) int { return strings.Compare(a.Name, b.Name) })
	return append(ofMuster(), others...)
}

// ofMuster lists the variables that begin with MUSTER_.
func ofMuster() []Read {
	return []Read{
		{"MUSTER_AGENT_IMAGE", "`controller`", "", "`--agent-image`", "image that brings the agent into the pods of jobs", "cmd/controller"},
		{"MUSTER_BROKER", "`agent rsh`, `ssh` and `pdsh` of `--shims`, `agent env`, `hosts`, `ready`", "the socket in the private directory", "", "path of the launcher's socket", "agent/launch/plan exec/rundir"},
		{"MUSTER_CONFIG", settled, "`muster.yaml`, outside the pods of a job", "", "path of the [file of settings](settings.md#a-file-of-settings)", "cmd/launcher"},
		{"MUSTER_DIR", private, "the first of `/run/muster`, `/muster/run`, `$XDG_RUNTIME_DIR/muster`, `$TMPDIR/muster-UID`, `/dev/shm/muster-UID` that can be private", "", "private directory of sockets and files", "exec/rundir"},
		{"MUSTER_EXPLAIN", "`agent env`", "false", "`--explain`", "explains each variable", ""},
		{"MUSTER_FAKE_WORKER", "`agent worker`, `doctor`", "", "", "says that a worker is a fake one; `agent run --fake` sets it", "agent/worker cmd/launcher"},
		{"MUSTER_FORMAT", "`agent hosts`", "`openmpi`", "`--format`", "format of the list of workers", ""},
		{"MUSTER_GRACE", "`agent join`, `run`, `env`, `hosts`", "", "`--grace`", "for a member of a LaunchJob: grace that its pod allows; a longer `--grace` is refused", "cmd/agent"},
		{"MUSTER_JOB", "every verb except `rsh`, `ready`, `install`", "", "`--job`", "name of the job; where it is set, `muster.yaml` is not read by default", "agent/exporter/traces cmd/agent cmd/launcher"},
		{"MUSTER_KEY_FILE", "`agent worker`, " + launching, "", "`--key-file`", "path of the worker's or the launcher's key, for `--transport=network`", "cmd/agent"},
		{"MUSTER_LISTEN", "`agent worker`", "`:9378`", "`--listen`", "address where a worker with a key listens for launchers", "cmd/agent"},
		{"MUSTER_LOG_FORMAT", "every verb of `agent`, and the controller", "", "`--log-format`", "`json` makes each line on standard error a JSON object", "cmd/agent cmd/launcher cmd/controller"},
		{"MUSTER_MPI_DIR", launching, "`/etc/mpi`", "", "directory of `hostfile`, `kubexec.sh` and `discover_hosts.sh` in a launcher's pod", "cmd/launcher"},
		{"MUSTER_NAMESPACE", "`agent join`, `run`, `env`, `hosts`", "the pod's own", "`--namespace`", "namespace of the job", "agent/exporter/traces cmd/agent"},
		{"MUSTER_NAMESPACES", "`controller`", "all", "`--namespaces`", "namespaces that the controller serves, as in `a,b`", "cmd/controller"},
		{"MUSTER_PODS", launching + ", `doctor`", "", "`--pods`", "names of the workers' pods, separated by commas", "cmd/launcher"},
		{"MUSTER_POD_INDEX", "`agent join`", "the number at the end of the host name", "`--rank`", "index of the pod in a StatefulSet, from the downward API", "agent/join"},
		{"MUSTER_POD_IP", "`agent join`, `run`, `env`, `hosts`", "the address of the host name", "", "address of the pod, from the downward API", "agent/exporter/traces cmd/agent cmd/launcher"},
		{"MUSTER_POD_NAME", "`agent join`, `worker`, `run`, `env`, `hosts`", "the host name", "", "name of the pod, from the downward API", "agent/exporter/traces agent/worker cmd/agent cmd/launcher"},
		{"MUSTER_POD_UID", settled + "; `worker` with a key", "", "", "uid of the pod, from the downward API; where it is set, `muster.yaml` is not read by default", "agent/exporter/traces agent/worker cmd/launcher"},
		{"MUSTER_SESSION", "`agent run`", "", "", "session in which the launcher itself runs", "agent/launch/command"},
		{"MUSTER_SLOTS", "`agent worker`, `join`, `run`, `env`, `hosts`", "", "`--slots`", "number of slots that a worker reports", "cmd/agent"},
		{"MUSTER_TERMINATION_LOG", "`agent join`, " + launching, "`/dev/termination-log`", "", "file for the termination message; empty for `join`: none", "cmd/agent cmd/launcher"},
		{"MUSTER_TOKEN", "`agent join`", "", "", "token of the job, unless `--token-file` is given; the command does not get it", "agent/join cmd/agent"},
		{"MUSTER_TRACEPARENT", exporting, "", "", "trace context of the run's own span; `agent run` sets it", "agent/tracecontext cmd/exporter"},
		{"MUSTER_WORKER", "`agent worker`, `join`, `env`, `hosts`, `doctor`", "`MUSTER_POD_NAME`", "", "name of the worker, which its processes get", "agent/launch/show agent/worker cmd/launcher"},
	}
}

// ofCluster lists those by which programs find their pod and the API server.
func ofCluster() []Read {
	const proxy = "proxy for connections to the API server"
	return []Read{
		{"ARGO_POD_NAME", "`agent submit`, as a step of Kubeflow Pipelines", "the host name", "", "name of the step's pod", "agent/jobs"},
		{"HTTP_PROXY", toCluster, "", "", proxy + " by http", "exec/remote"},
		{"HTTPS_PROXY", toCluster, "", "", proxy + " by https", "exec/remote"},
		{"JOB_COMPLETION_INDEX", "`agent join`", "`MUSTER_POD_INDEX`", "`--rank`", "index of the pod, which an Indexed Job sets", "agent/join"},
		{"KFP_POD_NAME", "`agent submit`, as a step of Kubeflow Pipelines", "`ARGO_POD_NAME`", "", "name of the step's pod", "agent/jobs"},
		{"KUBECONFIG", toCluster, "`~/.kube/config`", "`--kubeconfig`", "kubeconfig files, separated by `:`; in a pod with a service account, the agent ignores it", "agent/jobs agent/launch/fleet cmd/controller exec/remote"},
		{"KUBERNETES_SERVICE_HOST", toCluster + ", `worker`", "", "", "address of the API server, which Kubernetes sets in every pod", "agent/launch/fleet agent/worker cmd/controller cmd/launcher exec/remote"},
		{"KUBERNETES_SERVICE_PORT", toCluster, "", "", "port of the API server", "cmd/controller exec/remote"},
		{"KUBEFLOW_TRAINER_SERVER_CA_CERT", "`agent run`", "the machine's certificates", "", "file with the certificate of `KUBEFLOW_TRAINER_SERVER_URL`", "agent/trainer"},
		{"KUBEFLOW_TRAINER_SERVER_TOKEN", "`agent run`", "", "", "file with the token for it", "agent/trainer"},
		{"KUBEFLOW_TRAINER_SERVER_URL", "`agent run`", "", "", "where [progress](../guides/progress.md) is reported, if a rule captures the step", "agent/trainer"},
		{"NO_PROXY", toCluster, "", "", "hosts without a proxy", "exec/remote"},
	}
}

// ofShell lists those of users and their shells, and of programs that Muster stands in for.
func ofShell() []Read {
	const colored = "`agent run`, `logs`"
	return []Read{
		{"CLICOLOR", colored, "", "`--color`", "`0`: no colors", "exec/names"},
		{"CLICOLOR_FORCE", colored, "", "`--color`", "other than `0`: colors, also in a pipe", "exec/names"},
		{"FANOUT", pdsh, "32", "`pdsh -f`", "number of workers at a time", "exec/rsh/pdsh"},
		{"HOME", toCluster + ", `join`, `worker`", "", "", "directory of `.kube/config`; if it is empty, commands and processes get a private directory", "agent/framework agent/jobs agent/launch/files agent/worker cmd/controller exec/remote"},
		{"I_MPI_ROOT", launching, "", "", "shows an Intel MPI, for a warning about workers with different slots", "agent/framework"},
		{"LOGNAME", pdsh, "`root`", "", "user, if `USER` is not set", "exec/rsh/pdsh"},
		{"NO_COLOR", colored, "", "`--color`", "any value: no colors", "exec/names"},
		{"PATH", "`agent run`, `join`, `worker`", "", "", "directories of the command, and of programs that show stacks", "agent/launch/command agent/launch/files exec/proc exec/stacks"},
		{"PDSH_RCMD_TYPE", pdsh, "`ssh`", "`pdsh -R`", "way to a host; `exec` is refused", "exec/rsh/pdsh"},
		{"PET_MAX_RESTARTS", "`agent run`", "0", "", "above 0 on a worker: an exit code of 0 of torchrun counts even if a rank failed", "agent/framework"},
		{"PYTHONPATH", "`agent worker`", "", "", "directories of Python modules, which follow those of Muster", "exec/session"},
		{"SHELL", launching, "", "", "if it is empty and the user has no shell in `/etc/passwd`, or one that Open MPI does not know, mpirun gets `/bin/bash`", "agent/framework"},
		{"TERM", "`agent run`, `logs`, `submit`", "", "", "`dumb`: no colors, and no line that is rewritten", "cmd/launcher exec/names rendezvous"},
		{"TMPDIR", private, "`/tmp`", "", "directory of temporary files", "agent/framework agent/worker exec/rundir"},
		{"USER", pdsh, "`LOGNAME`", "`pdsh -l`", "user on the workers", "exec/rsh/pdsh"},
		{"WCOLL", pdsh, "", "`pdsh -w`", "file with hosts", "exec/rsh/pdsh"},
		{"WORLD_SIZE", launching + ", `join`", "", "", "refused for PyTorch if it is no multiple of `--procs-per-worker`", "agent/framework"},
		{"XDG_RUNTIME_DIR", private, "", "", "candidate for the private directory", "exec/rundir"},
	}
}

// ofTraces lists those of OpenTelemetry and of W3C Trace Context. OpenTelemetry's SDK reads more, in
// agent-exporter only.
func ofTraces() []Read {
	const both, lib, here = tracing + ", " + exporting, "agent/exporter/traces", "agent/tracecontext"
	const all = both + ", `controller`"
	return []Read{
		{"OTEL_EXPORTER_OTLP_ENDPOINT", all, "", "", "URL of the collector of traces: see [Traces](../guides/traces.md)", lib + " " + here},
		{"OTEL_EXPORTER_OTLP_PROTOCOL", exporting, "`http/protobuf`", "", "`grpc` or `http/protobuf`", lib},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", all, "`OTEL_EXPORTER_OTLP_ENDPOINT` with `/v1/traces`", "", "URL that gets the traces", lib + " " + here},
		{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", exporting, "`OTEL_EXPORTER_OTLP_PROTOCOL`", "", "the same for traces only", lib},
		{"OTEL_PROPAGATORS", both, "`tracecontext,baggage`", "", "without `tracecontext`, a `TRACEPARENT` of the caller is left alone", here},
		{"OTEL_SDK_DISABLED", all, "", "", "`true`: no traces", here},
		{"OTEL_TRACES_EXPORTER", all, "`otlp` if an endpoint is set", "", "`otlp`, `console` or `none`", lib + " " + here},
		{"OTEL_TRACES_SAMPLER", all, "`parentbased_always_on`", "", "which runs and jobs are recorded", here},
		{"OTEL_TRACES_SAMPLER_ARG", all, "1", "", "share of the runs or jobs that are recorded", here},
		{"TRACEPARENT", both, "", "", "trace context of the caller, whose trace the run joins", here + " cmd/exporter"},
		{"TRACESTATE", both, "", "", "the state that belongs to `TRACEPARENT`", here},
	}
}

// ofBuckets lists those of the AWS CLI. The client of S3 reads more, for credentials.
func ofBuckets() []Read {
	const here, see = "agent/archive/s3", ": see [Logs](../guides/logs.md#keep-the-output-in-a-bucket)"
	return []Read{
		{"AWS_CA_BUNDLE", exporting, "the machine's certificates", "", "file with certificates of authorities for the server of a bucket", here},
		{"AWS_CONTAINER_CREDENTIALS_FULL_URI", exporting, "", "", "where a pod gets credentials for a bucket, which EKS sets", here},
		{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", exporting, "", "", "the same, on ECS", here},
		{"AWS_DEFAULT_REGION", exporting, "", "", "region, if `AWS_REGION` is not set", here},
		{"AWS_EC2_METADATA_DISABLED", exporting, "", "", "`true`: no credentials of the machine", here},
		{"AWS_ENDPOINT_URL", exporting, "Amazon's", "", "URL of the server of a bucket" + see, here},
		{"AWS_ENDPOINT_URL_S3", exporting, "`AWS_ENDPOINT_URL`", "", "the same for S3 only", here},
		{"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", exporting, "", "", "`true`: Amazon's server", here},
		{"AWS_REGION", exporting, "asked of the server", "", "region of a bucket", here},
		{"AWS_WEB_IDENTITY_TOKEN_FILE", exporting, "", "", "token of a pod's service account for credentials, which EKS sets", here},
	}
}

// OfProcesses lists the variables that Muster reads from the environment of processes on workers.
func OfProcesses() []Read {
	const (
		local = "number of ranks on the worker"
		rank  = "number of a rank"
		dump  = "PyTorch's record of collectives, for a report of a hang"
	)
	return []Read{
		{Name: "HOROVOD_RANK", Meaning: rank, In: "exec/reap"},
		{Name: "JAX_PROCESS_ID", Meaning: rank, In: "exec/reap"},
		{Name: "LOCAL_RANK", Meaning: rank + " on its worker", In: "exec/reap"},
		{Name: "MPI_LOCALNRANKS", Meaning: local + ", from MPICH and Intel MPI", In: "exec/session"},
		{Name: "MV2_COMM_WORLD_RANK", Meaning: rank + ", from MVAPICH2", In: "exec/reap"},
		{Name: "NCCL_RAS_ADDR", Meaning: "address of NCCL's RAS, which is asked in a hang", In: "exec/stacks"},
		{Name: "OMPI_COMM_WORLD_LOCAL_SIZE", Meaning: local + ", from Open MPI", In: "exec/session"},
		{Name: "OMPI_COMM_WORLD_RANK", Meaning: rank + ", from Open MPI", In: "exec/reap exec/session"},
		{Name: "PADDLE_TRAINER_ID", Meaning: rank, In: "exec/reap"},
		{Name: "PET_NNODES", Meaning: "shows that a torchrun takes part in the job", In: "agent/framework"},
		{Name: "PMIX_RANK", Meaning: rank + ", from PMIx", In: "exec/reap exec/session"},
		{Name: "PMI_RANK", Meaning: rank + ", from MPICH and Intel MPI", In: "exec/reap exec/session"},
		{Name: "RANK", Meaning: rank, In: "exec/reap exec/session exec/stacks"},
		{Name: "SLURM_PROCID", Meaning: rank + ", from Slurm", In: "exec/reap"},
		{Name: "TORCH_FR_DUMP_TEMP_FILE", Meaning: "file of " + dump, In: "exec/stacks"},
		{Name: "TORCH_NCCL_DEBUG_INFO_PIPE_FILE", Meaning: "pipe that asks for " + dump, In: "exec/stacks"},
		{Name: "TORCH_NCCL_DEBUG_INFO_TEMP_FILE", Meaning: "file of " + dump + ", in older releases", In: "exec/stacks"},
	}
}
