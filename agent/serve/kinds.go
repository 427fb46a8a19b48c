package serve

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kind is one of Kubeflow's kinds, and the words of its operator.
type kind struct {
	name     string   // PyTorchJob
	version  string   // API version
	specs    string   // the field of the spec with the replicas
	types    []string // of replicas, in the operator's spelling and order
	leads    []string // types that decide whether the job runs: the first one that the job has
	selector bool     // replicaStatuses select the pods of a type, for autoscalers
	long     bool     // messages name the namespace, whatever the replicas are
	failed   string   // reason of the condition Failed, if it is not NAMEFailed
}

const group = "kubeflow.org"

const worker = "Worker"

// kinds returns the kinds that can be served. A cluster has one version of MPIJob: that of
// mpi-operator (v2beta1) or that of training-operator (v1). If its CRD has both, the first one here
// is used. Names and messages are those of training-operator v1.8.1 (JAXJob: v1.9) and mpi-operator
// v0.6.0.
func kinds() []kind {
	return []kind{
		{name: "PyTorchJob", version: "v1", specs: "pytorchReplicaSpecs", types: []string{"Master", worker}, leads: []string{"Master", worker}, selector: true},
		{name: "TFJob", version: "v1", specs: "tfReplicaSpecs", types: []string{"Chief", "Evaluator", "Master", "PS", worker}, leads: []string{"Chief", "Master", worker}, long: true},
		{name: "XGBoostJob", version: "v1", specs: "xgbReplicaSpecs", types: []string{"Master", worker}, leads: []string{"Master"}},
		{name: "PaddleJob", version: "v1", specs: "paddleReplicaSpecs", types: []string{"Master", worker}, leads: []string{"Master", worker}, selector: true},
		{name: "JAXJob", version: "v1", specs: "jaxReplicaSpecs", types: []string{worker}, leads: []string{worker}, selector: true, long: true},
		{name: "MXJob", version: "v1", specs: "mxReplicaSpecs", types: []string{"Scheduler", "Server", worker, "TunerTracker", "TunerServer", "Tuner"}, leads: []string{"Scheduler", worker}},
		{name: "MPIJob", version: v2, specs: "mpiReplicaSpecs", types: []string{launcher, worker}, leads: []string{launcher}, long: true},
		// The operator adds the kind to a reason that contains it already.
		{name: "MPIJob", version: "v1", specs: "mpiReplicaSpecs", types: []string{launcher, worker}, leads: []string{launcher}, failed: "MPIJobMPIJobFailed"},
	}
}

const (
	launcher = "Launcher"
	v2       = "v2beta1" // mpi-operator's own
)

func (k kind) gvk() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: k.version, Kind: k.name}
}

// reason returns the operators' reason for a condition.
func (k kind) reason(word string) string { return k.name + word }

// selects returns the label selector of the pods of a type.
func (k kind) selects(job, replicaType string) string {
	if !k.selector {
		return ""
	}
	const prefix = "training.kubeflow.org/"
	return prefix + "job-name=" + job + "," + prefix + "operator-name=" + strings.ToLower(k.name) + "-controller," +
		prefix + "replica-type=" + strings.ToLower(replicaType)
}
