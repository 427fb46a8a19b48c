package kubeflow

import (
	"slices"
	"strings"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// KubeflowV1 is the compat value of jobs from kubeflow.org: they get the pods, Services and
// environment of their operators. None selects Muster's native environment.
const (
	KubeflowV1 = "kubeflow-v1"
	None       = "none"
)

// Options configures a conversion.
type Options struct {
	Compat     string // "" and kubeflow-v1: for kinds of kubeflow.org; none: for no kind
	Delivery   string // auto, init, imageVolume, baked; "": auto
	AgentImage string // for init and imageVolume; "": the controller's release
	// Runtimes holds the documents that a TrainJob may name, by "KIND/NAME".
	Runtimes map[string]map[string]any
}

// Result is the result of converting one object.
type Result struct {
	Job      *v1alpha1.LaunchJob // nil if a finding is fatal
	Findings []Finding           // in the order of the object's fields
}

// Finding says what happens to a field that is not carried over unchanged.
type Finding struct {
	Field string // its path, as in spec.runPolicy.ttlSecondsAfterFinished
	Text  string // what happens to it
	Way   string // what to do about it; may be empty
	Fatal bool   // the job could not start, so none is made
	Note  bool   // nothing is lost
}

// Kind is one kind of object that Convert knows.
type Kind struct{ APIVersion, Kind string }

// kind is the converter of a Kind.
type kind struct {
	Kind
	convert func(*conversion)
}

func kinds() []kind {
	return []kind{
		{Kind{"kubeflow.org/v1alpha1", "MPIJob"}, mpiJobV1alpha1},
		{Kind{"kubeflow.org/v1alpha2", "MPIJob"}, mpiJobV1alpha2},
		{Kind{"kubeflow.org/v1", "MPIJob"}, mpiJobV1},
		{Kind{"kubeflow.org/v2beta1", "MPIJob"}, mpiJobV2beta1},
		{Kind{"kubeflow.org/v1", "PyTorchJob"}, pyTorchJob},
		{Kind{"kubeflow.org/v1", "TFJob"}, tfJob},
		{Kind{"kubeflow.org/v1", "XGBoostJob"}, xgBoostJob},
		{Kind{"kubeflow.org/v1", "PaddleJob"}, paddleJob},
		{Kind{"kubeflow.org/v1", "MXJob"}, mxJob},
		{Kind{"kubeflow.org/v1", "JAXJob"}, jaxJob},
		{Kind{"trainer.kubeflow.org/v1alpha1", "TrainJob"}, trainJob},
		{Kind{"batch.volcano.sh/v1alpha1", "Job"}, volcanoJob},
	}
}

// Kinds lists the kinds that Convert knows.
func Kinds() (all []Kind) {
	for _, k := range kinds() {
		all = append(all, k.Kind)
	}
	return all
}

func knows(is Kind) bool { return slices.Contains(Kinds(), is) }

// conversion is the state of converting one object.
type conversion struct {
	o      Options
	object reader
	spec   reader
	job    *v1alpha1.LaunchJob
	// runtimeRead is the runtime of a TrainJob. Its fields are not dropped silently either.
	runtimeRead reader
}

// Convert converts an object to a LaunchJob. It does not change the object, and reports what
// happens to every field that it does not carry over.
func Convert(object map[string]any, o Options) Result {
	b := &book{taken: map[string]bool{}}
	root := reader{object, "", b}
	c := &conversion{o: o, object: root, spec: root.at("spec"), job: &v1alpha1.LaunchJob{}}
	is := Kind{root.at("apiVersion").text(), root.at("kind").text()}
	at := slices.IndexFunc(kinds(), func(k kind) bool { return k.Kind == is })
	if at < 0 {
		root.at("kind").fatal("want "+known(), "unknown kind %s %s", is.APIVersion, is.Kind)
		return Result{Findings: b.findings}
	}
	c.job.APIVersion, c.job.Kind = v1alpha1.Version().String(), v1alpha1.Kind
	c.metadata()
	c.job.Spec.Agent = v1alpha1.AgentBy(c.o.Delivery, c.o.AgentImage)
	if !c.spec.has() {
		c.spec.fatal("", "the job has no spec")
	} else {
		kinds()[at].convert(c)
	}
	c.judge()
	b.rest(root)
	if c.runtimeRead.has() {
		b.rest(c.runtimeRead)
	}
	if slices.ContainsFunc(b.findings, func(f Finding) bool { return f.Fatal }) {
		c.job = nil
	}
	return Result{Job: c.job, Findings: b.findings}
}

// known lists the kinds for a sentence.
func known() string {
	var all []string
	for _, k := range Kinds() {
		all = append(all, k.Kind+" of "+k.APIVersion)
	}
	return strings.Join(all, ", ")
}

// baked reports whether the images have the agent as their entrypoint.
func (c *conversion) baked() bool { return c.o.Delivery == "baked" }

// compat reports whether the pods must be as the operator made them.
func (c *conversion) compat() bool { return c.o.Compat != None }
