package framework

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// KubeflowV1 is the only name that --compat takes.
const KubeflowV1 = "kubeflow-v1"

// Kubeflow gives the pods of a job exactly the environment of Kubeflow's training-operator v1,
// including its faults, for scripts that depend on them. Tests compare the values with files that
// the operator's own code wrote (v1.8.1, JAXJob v1.9.3: test/lab/kubeflow). It starts one process
// per worker, whatever [Cluster.Procs] is, because the operator had one per pod.
//
// Hosts are JOB-ROLE-INDEX, the operator's Services, and ports are the operator's defaults. A
// worker without a role takes the role at the end of its name, as in -master-0, else worker. The
// success rule is the operator's too, with two exceptions: the MXJob (see [kfMXPart]), and a TFJob
// with dynamic workers, whose failures count here.
type Kubeflow struct {
	Kind string // PyTorchJob, TFJob, MPIJob, XGBoostJob, PaddleJob, MXJob or JAXJob
	// NprocPerNode is the field of a PyTorchJob: a number, auto, cpu or gpu. "" means
	// Cluster.Procs, or auto if that is 0.
	NprocPerNode string
	Elastic      *KubeflowElastic // of a PyTorchJob; nil: see Cluster.LeastWorkers
	Sparse       bool             // enableDynamicWorker of a TFJob
	// ClusterDomain follows ".svc" in the hosts of a TFJob, like CUSTOM_CLUSTER_DOMAIN in the
	// operator's environment.
	ClusterDomain string
}

// kfKind holds the differences between the operator's kinds.
type kfKind struct {
	frameworks []string // values of --framework
	port       int      // default port of the operator's container
	roles      []string // its replica types, in lower case
	env        func(kfJob, kfPod) []Var
	rank       func(kfJob, kfPod) int // as in env; -1 for none
	part       func(kfJob, kfPod) Part
	faults     func(kfJob) []string // what the user must know of this job
}

func kfKinds() map[string]kfKind {
	return map[string]kfKind{
		"PyTorchJob": {[]string{"torch"}, 23456, []string{"master", "worker"}, kfTorchEnv, kfTorchRank, kfDecides("master"), kfTorchFaults},
		"TFJob":      {[]string{"tensorflow"}, 2222, []string{"chief", "master", "ps", "worker", "evaluator"}, kfTFEnv, kfNoRank, kfTFPart, kfTFFaults},
		"MPIJob":     {[]string{"mpi", "openmpi", "mpich", "intelmpi"}, 9999, nil, nil, nil, nil, nil},
		"XGBoostJob": {[]string{"xgboost", "lightgbm"}, 9999, []string{"master", "worker"}, kfXGBoostEnv, kfAfterMaster, kfDecides("master"), kfXGBoostFaults},
		"PaddleJob":  {[]string{"paddle"}, 36543, []string{"master", "worker"}, kfPaddleEnv, kfNoRank, kfDecides("master"), kfPaddleFaults},
		"MXJob":      {[]string{"mxnet"}, 9091, []string{"scheduler", "server", "worker"}, kfMXEnv, kfMXRank, kfMXPart, kfMXFaults},
		"JAXJob":     {[]string{"jax"}, 6666, []string{"worker"}, kfJAXEnv, kfOwnIndex, kfDecides(""), kfJAXFaults},
	}
}

// Compat returns the framework for --compat=name and --framework=f. It returns an error for a name
// other than kubeflow-v1, and for a framework for which the operator had no kind.
func Compat(name, f string) (Framework, error) {
	if name != KubeflowV1 {
		return nil, fmt.Errorf("--compat=%s: unknown value, want %s", name, KubeflowV1)
	}
	var known []string
	kinds := kfKinds()
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		if slices.Contains(kinds[kind].frameworks, f) {
			return Kubeflow{Kind: kind}, nil
		}
		known = append(known, kinds[kind].frameworks...)
	}
	slices.Sort(known)
	return nil, fmt.Errorf("--compat=%s does not support --framework=%s, only %s", name, f, strings.Join(known, ", "))
}

// Chosen returns the framework of that name, as changed by --compat if compat is not "". Errors:
// those of Named and Compat.
func Chosen(name, compat string) (Framework, error) {
	if compat != "" {
		return Compat(compat, name)
	}
	return Named(name)
}

// Prepare implements Framework. It returns an error for:
//
//   - an unknown kind;
//   - a job without a name, which begins every host;
//   - no workers, or no command;
//   - a role that the kind does not have, or two workers of a role that it has once;
//   - an XGBoostJob without a master, which the operator refused;
//   - a PaddleJob whose first worker has no address.
//
// The one warning says what is wrong with the operator's values.
func (k Kubeflow) Prepare(c Cluster) (Launch, error) {
	kind, ok := kfKinds()[k.Kind]
	switch {
	case !ok:
		return Launch{}, fmt.Errorf("prepare %s of %s: no such kind", k.Kind, KubeflowV1)
	case c.Job == "":
		return Launch{}, fmt.Errorf("prepare %s of %s: the job needs a name, because host names start with it", k.Kind, KubeflowV1)
	case k.Kind == "MPIJob":
		return kfMPI(c)
	}
	job, err := k.job(c, kind)
	if err != nil {
		return Launch{}, fmt.Errorf("prepare %s of %s: %w", k.Kind, KubeflowV1, err)
	}
	launch := Launch{
		Any:      k.Kind == "PyTorchJob" && job.elastic != nil && job.count("master") == 0,
		Warnings: []string{kfWarning(k.Kind, append(kind.faults(job), job.strangers()...))},
	}
	for i, pod := range job.pods {
		launch.Processes = append(launch.Processes, Process{
			Worker: i, Role: pod.role, Index: pod.index, Rank: kind.rank(job, pod),
			Env: kind.env(job, pod), Argv: slices.Clone(c.Command), Part: kind.part(job, pod),
		})
	}
	return launch, nil
}

func kfWarning(kind string, faults []string) string {
	text := fmt.Sprintf("--compat=%s: variables are exactly those of training-operator v1 for a %s, bugs included", KubeflowV1, kind)
	if len(faults) > 0 {
		text += ": " + strings.Join(faults, "; ")
	}
	return text
}

func kfNoRank(kfJob, kfPod) int         { return -1 }
func kfOwnIndex(_ kfJob, pod kfPod) int { return pod.index }

// kfAfterMaster counts the masters first, then the workers.
func kfAfterMaster(j kfJob, pod kfPod) int {
	if pod.role == "worker" {
		return j.count("master") + pod.index
	}
	return pod.index
}

// kfDecides makes the role decide and the others work. If no process has the role, all work.
func kfDecides(role string) func(kfJob, kfPod) Part {
	return func(_ kfJob, pod kfPod) Part {
		if pod.role == role {
			return Decides
		}
		return Works
	}
}

// kfUnbuffered returns the first variable of most kinds.
func kfUnbuffered() Var {
	return Var{Name: "PYTHONUNBUFFERED", Value: "1", Default: true, Why: "kubeflow-v1: turns off buffering of Python's output"}
}
