package kubeflow

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/framework"
)

// elastic is the elasticPolicy of a PyTorchJob.
type elastic struct {
	in       reader
	min, max int32
}

// elastic reads the policy. It returns nil if there is none, or if the job has no workers.
func (c *conversion) elastic(workers *replica) *elastic {
	in := c.spec.at("elasticPolicy")
	if !in.has() {
		return nil
	}
	if workers == nil {
		in.fatal("add Worker, or remove elasticPolicy", "an elastic job needs workers")
		return nil
	}
	e := &elastic{in: in, min: workers.count, max: workers.count}
	if n := in.at("minReplicas").count(); n != nil {
		e.min = *n
	}
	if n := in.at("maxReplicas").count(); n != nil {
		e.max = *n
	}
	if e.min < 1 || e.min > e.max {
		in.at("minReplicas").fatal("set a number from 1 to maxReplicas", "minReplicas is %d, but maxReplicas is %d", e.min, e.max)
	}
	if metrics := in.at("metrics"); metrics.has() {
		metrics.warn(fmt.Sprintf("kubectl autoscale launchjob/%s --min=%d --max=%d, where the job is elastic", c.job.Name, e.min, e.max), "no autoscaler is created: not carried")
	}
	return e
}

// comeAndGo converts the job to one whose workers may come and go: a launcher supervises them and
// starts torchrun on each. This requires torchrun in the command, only workers, and torch's own
// rendezvous, for which Muster sets the details.
func (c *conversion) comeAndGo(e *elastic, all []replica) bool {
	worker := &all[0]
	o, at := own(&worker.template, worker.container)
	backend := e.in.at("rdzvBackend").text()
	words := slices.Concat(o.Command, o.Args)
	if e.min == e.max || len(all) > 1 || len(o.Command) == 0 || framework.Detect(words) != "torch" ||
		backend != "" && backend != "c10d" || e.in.at("standalone").flag() {
		return false
	}
	for _, key := range []string{"rdzvHost", "rdzvPort", "rdzvId", "rdzvConf"} {
		if f := e.in.at(key); f.has() {
			f.warn("", "workers meet on the first one, with a new port and ID for each attempt: not carried")
		}
	}
	if n := e.in.at("maxRestarts").count(); n != nil {
		setDefault(o, "PET_MAX_RESTARTS", strconv.Itoa(int(*n)))
	}
	if n := e.in.at("nProcPerNode").count(); n != nil && c.job.Spec.ProcsPerWorker == nil {
		c.job.Spec.ProcsPerWorker = n
	}
	launcher := worker.template.DeepCopy()
	command, _ := own(launcher, worker.container)
	command.Resources = launcherNeeds(command.Resources, launcher.Spec.Resources)
	launcher.Spec.Resources = nil // those of the whole pod
	delete(launcher.Labels, "training.kubeflow.org/replica-type")
	o.Command, o.Args = nil, nil
	container(worker.in.at("template"), at).at("command").note("it is in the launcher, which starts it on the workers")
	c.job.Spec.Launcher = &v1alpha1.Launcher{Container: worker.container, Template: *launcher}
	c.job.Spec.Elastic = &v1alpha1.Elastic{Min: e.min, Max: e.max}
	if worker.count < e.min || worker.count > e.max {
		worker.in.at("replicas").warn("", "out of bounds: %d is used", min(max(worker.count, e.min), e.max))
		worker.count = min(max(worker.count, e.min), e.max)
	}
	c.job.Spec.Compat = ""
	e.in.at("maxReplicas").note("a launcher is added, an extra pod that requests 0.1 CPU and no devices; it adds workers that join and drops those that leave. kubectl scale changes their number. compat is omitted, because its hosts are fixed")
	return true
}

// rendezvous sets the operator's variables for fixed workers, by which torchrun finds the other
// workers.
func (c *conversion) rendezvous(e *elastic, all []replica) {
	host := c.job.Name + "-worker-0"
	if !c.compat() {
		host += "." + c.job.Name
	}
	port, backend := int32(23456), "c10d"
	if f := e.in.at("rdzvHost"); f.has() {
		host = f.text()
	}
	if n := e.in.at("rdzvPort").count(); n != nil {
		port = *n
	}
	if f := e.in.at("rdzvBackend"); f.has() {
		backend = f.text()
	}
	env := [][2]string{
		{"PET_RDZV_ENDPOINT", fmt.Sprintf("%s:%d", host, port)}, {"PET_RDZV_BACKEND", backend}, {"PET_NNODES", fmt.Sprintf("%d:%d", e.min, e.max)},
	}
	for _, f := range [][2]string{{"maxRestarts", "PET_MAX_RESTARTS"}, {"nProcPerNode", "PET_NPROC_PER_NODE"}} {
		if n := e.in.at(f[0]).count(); n != nil {
			env = append(env, [2]string{f[1], strconv.Itoa(int(*n))})
		}
	}
	if f := e.in.at("rdzvId"); f.has() {
		env = append(env, [2]string{"PET_RDZV_ID", f.text()})
	}
	var conf []string
	for _, f := range e.in.at("rdzvConf").list() {
		conf = append(conf, f.at("key").text()+"="+f.at("value").text())
	}
	if len(conf) > 0 {
		env = append(env, [2]string{"PET_RDZV_CONF", strings.Join(conf, ",")})
	}
	if e.in.at("standalone").flag() {
		env = append(env, [2]string{"PET_STANDALONE", ""})
	}
	for i := range all {
		o, at := own(&all[i].template, all[i].container)
		for _, v := range env {
			if setDefault(o, v[0], v[1]) {
				container(all[i].in.at("template"), at).at("env").note("its own %s takes precedence", v[0])
			}
		}
	}
	if find(all, "master") == nil {
		c.job.Spec.Success = "any"
	}
	if e.min < e.max {
		e.in.at("maxReplicas").warn("run the workers' torchrun as the command of a job without Master, and it becomes an elastic LaunchJob",
			"the number of workers is fixed: torchrun gets the operator's variables, but no pods come and go")
	}
}
