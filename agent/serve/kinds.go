package serve

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kind is one of Kubeflow's, and how its operator speaks of it.
type kind struct {
	name     string   // PyTorchJob
	version  string   // of the API
	specs    string   // the field of the spec that holds the replicas
	types    []string // of replicas, as the operator writes them, in its order
	leads    []string // types whose running is the job's: the first that a job has
	selector bool     // replicaStatuses name the pods of a type, for autoscalers
	long     bool     // messages name the namespace, whichever replicas there are
	failed   string   // the reason of the condition Failed, where it is not NAMEFailed
}

const group = "kubeflow.org"

const worker = "Worker"

// kinds are all that can be served. Of MPIJob, a cluster has one version: that of
// training-operator (v1) or that of mpi-operator (v2beta1). What they are called and
// say is that of training-operator v1.8.1 (JAXJob: v1.9) and mpi-operator v0.6.0.
func kinds() []kind {
	return []kind{
		{name: "PyTorchJob", version: "v1", specs: "pytorchReplicaSpecs", types: []string{"Master", worker}, leads: []string{"Master", worker}, selector: true},
		{name: "TFJob", version: "v1", specs: "tfReplicaSpecs", types: []string{"Chief", "Evaluator", "Master", "PS", worker}, leads: []string{"Chief", "Master", worker}, long: true},
		{name: "XGBoostJob", version: "v1", specs: "xgbReplicaSpecs", types: []string{"Master", worker}, leads: []string{"Master"}},
		{name: "PaddleJob", version: "v1", specs: "paddleReplicaSpecs", types: []string{"Master", worker}, leads: []string{"Master", worker}, selector: true},
		{name: "JAXJob", version: "v1", specs: "jaxReplicaSpecs", types: []string{worker}, leads: []string{worker}, selector: true, long: true},
		{name: "MXJob", version: "v1", specs: "mxReplicaSpecs", types: []string{"Scheduler", "Server", worker, "TunerTracker", "TunerServer", "Tuner"}, leads: []string{"Scheduler", worker}},
		// The operator puts the kind before a reason that has it already.
		{name: "MPIJob", version: "v1", specs: "mpiReplicaSpecs", types: []string{launcher, worker}, leads: []string{launcher}, failed: "MPIJobMPIJobFailed"},
		{name: "MPIJob", version: v2, specs: "mpiReplicaSpecs", types: []string{launcher, worker}, leads: []string{launcher}, long: true},
	}
}

const (
	launcher = "Launcher"
	v2       = "v2beta1" // mpi-operator's own
)

func (k kind) gvk() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: k.version, Kind: k.name}
}

// reason is what the kind's operators call a condition.
func (k kind) reason(word string) string { return k.name + word }

// selects is the label selector of the pods of a type.
func (k kind) selects(job, replicaType string) string {
	if !k.selector {
		return ""
	}
	const prefix = "training.kubeflow.org/"
	return prefix + "job-name=" + job + "," + prefix + "operator-name=" + strings.ToLower(k.name) + "-controller," +
		prefix + "replica-type=" + strings.ToLower(replicaType)
}
