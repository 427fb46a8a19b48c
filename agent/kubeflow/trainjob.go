package kubeflow

import (
	"cmp"
	"strings"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// trainerGroup is the API group of TrainJobs and of their runtimes.
const trainerGroup = "trainer.kubeflow.org"

// trainJob converts Trainer's TrainJob. Its pods are in the runtime that it names, a
// TrainingRuntime or ClusterTrainingRuntime among the documents.
func trainJob(c *conversion) {
	rt := c.runtime()
	if !rt.has() {
		return
	}
	c.job.Spec.RunPolicy = &v1alpha1.RunPolicy{CleanPodPolicy: "Running", Suspend: c.spec.at("suspend").flag()}
	c.job.Spec.RunPolicy.ActiveDeadlineSeconds = deadline(c.spec.at("activeDeadlineSeconds"))
	c.managedBy(c.spec.at("managedBy"))
	if init := c.spec.at("initializer"); init.has() {
		init.fatal("run it first, as a separate Job, and mount its volume in the runtime's template", "a LaunchJob has no pods that run before the others")
	}
	jobs := c.replicatedJobs(rt.at("spec").at("template").at("spec"))
	c.patches(jobs)
	c.jobSet(rt.at("spec").at("template"))
	policy := rt.at("spec").at("mlPolicy")
	if c.trained(jobs, policy) {
		c.podGroup(rt.at("spec").at("podGroupPolicy"))
	}
}

// runtime returns the runtime that the job names. If that is missing, only its name is known. This
// is enough if the job itself has an image and a command.
func (c *conversion) runtime() reader {
	ref := c.spec.at("runtimeRef")
	name, group := ref.at("name").text(), ref.at("apiGroup").text()
	kind := cmp.Or(ref.at("kind").text(), "ClusterTrainingRuntime")
	if group != "" && group != trainerGroup {
		ref.at("apiGroup").fatal("", "want %s", trainerGroup)
	}
	if kind != "ClusterTrainingRuntime" && kind != "TrainingRuntime" {
		ref.at("kind").fatal("want ClusterTrainingRuntime or TrainingRuntime", "unknown kind %s", kind)
	}
	rt := reader{nil, "runtime", c.object.book}
	if found := c.o.Runtimes[kind+"/"+name]; found != nil {
		rt.value = found
		rt.at("apiVersion").take()
		rt.at("kind").take()
		rt.at("metadata").mention(true, "it belongs to the runtime itself, which is not converted")
		c.runtimeRead = rt
		return rt
	}
	source, _, distributed := strings.Cut(name, "-distributed")
	trainer := c.spec.at("trainer")
	if bare := trainer.at("image").has() && trainer.at("command").has(); distributed && bare && (source == "torch" || source == "jax" || source == "xgboost") {
		ref.at("name").warn("kubectl get "+strings.ToLower(kind)+" "+name+" -o yaml, as one more -f",
			"the %s is not among the documents: image, command and resources come from the job, and the rest of the runtime is missing", kind)
		rt.value = bareRuntime(source)
		return rt
	}
	ref.at("name").fatal("kubectl get "+strings.ToLower(kind)+" "+name+" -o yaml, as one more -f", "the pods are defined by %s %s, which is not among the documents", kind, name)
	return rt
}

// bareRuntime returns what a well-known runtime name stands for.
func bareRuntime(source string) map[string]any {
	container := map[string]any{"name": "node"}
	job := map[string]any{
		"name": "node",
		"template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{ancestor: "trainer"}},
			"spec":     map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{container}}}},
		},
	}
	return map[string]any{"spec": map[string]any{
		"mlPolicy": map[string]any{source: map[string]any{}},
		"template": map[string]any{"spec": map[string]any{"replicatedJobs": []any{job}}},
	}}
}

// trained sets the framework and the roles of the job.
func (c *conversion) trained(jobs []*replicatedJob, policy reader) bool {
	nodes := c.spec.at("trainer").at("numNodes")
	if !nodes.has() {
		nodes = policy.at("numNodes")
	} else {
		policy.at("numNodes").take()
	}
	n := nodes.pods(1)
	procs := c.spec.at("trainer").at("numProcPerNode")
	if mpi := policy.at("mpi"); mpi.has() {
		return c.trainedByMPI(jobs, mpi, procs, n)
	}
	if len(jobs) != 1 {
		c.object.at("kind").fatal("", "the runtime has %d trainer jobs; only one is supported", len(jobs))
		return false
	}
	worker := replica{in: jobs[0].in.at("template").at("spec"), role: "worker", count: n, template: jobs[0].template, container: jobs[0].container(), restart: "OnFailure"}
	all := []replica{worker}
	c.job.Spec.Framework = "plain"
	for _, source := range []string{"torch", "jax", "xgboost"} {
		if in := policy.at(source); in.has() {
			c.job.Spec.Framework = source
			in.at("numProcPerNode").take()
			if !procs.has() {
				procs = in.at("numProcPerNode")
			}
			in.mentionEmpty()
		}
	}
	if flux := policy.at("flux"); flux.has() {
		flux.fatal("start mpirun in an MPI runtime", "Muster does not support Flux")
	}
	c.procs(all, procs)
	if n < 1 {
		nodes.fatal("set a number from 1", "the job has no nodes")
	}
	c.members(all)
	c.restarts(all, worker.in.at("backoffLimit"), 6)
	return true
}

// mentionEmpty takes a policy that is present but empty.
func (r reader) mentionEmpty() {
	if len(r.keys()) == 0 {
		r.take()
	}
}

// trainedByMPI makes launcher and workers from the jobs launcher and node.
func (c *conversion) trainedByMPI(jobs []*replicatedJob, mpi, procs reader, n int32) bool {
	var launcher, worker *replica
	for _, j := range jobs {
		r := &replica{in: j.in.at("template").at("spec"), count: 1, template: j.template, container: j.container(), restart: "OnFailure"}
		switch j.name {
		case "launcher":
			r.role, launcher = "launcher", r
		case "node":
			r.role, r.count, worker = "worker", n, r
		}
	}
	if launcher == nil || worker == nil {
		mpi.fatal("add replicatedJobs named launcher and node", "the runtime has no launcher, or no node")
		return false
	}
	slots := mpi.at("numProcPerNode")
	if procs.has() {
		slots.take()
		slots = procs
	}
	c.implementation(mpi.at("mpiImplementation"))
	if path := mpi.at("sshAuthMountPath"); path.has() {
		path.note("there is no ssh, and no key")
	}
	asNode := mpi.at("runLauncherAsNode").flag()
	if asNode {
		worker.count = max(n-1, 1)
	}
	if worker.count < 1 {
		c.spec.at("trainer").at("numNodes").fatal("set a number from 1", "the job has no nodes")
	}
	c.mpi(launcher, worker, slots)
	if asNode {
		c.job.Spec.Launcher.Slots = c.job.Spec.Slots
	}
	c.restarts([]replica{*launcher}, launcher.in.at("backoffLimit"), 6)
	worker.in.at("backoffLimit").mention(false, "the launcher's value applies")
	return true
}

// podGroup converts the gang of the runtime.
func (c *conversion) podGroup(p reader) {
	cosched, volcano := p.at("coscheduling"), p.at("volcano")
	switch {
	case cosched.has() && volcano.has():
		p.fatal("keep one", "a job of two gangs never starts")
	case cosched.has():
		c.job.Spec.Gang = &v1alpha1.Gang{Backend: "coscheduling"}
		cosched.mentionEmpty()
	case volcano.has():
		c.job.Spec.Gang = &v1alpha1.Gang{Backend: "volcano"}
		volcano.mentionEmpty()
	default:
		c.gang()
	}
}
