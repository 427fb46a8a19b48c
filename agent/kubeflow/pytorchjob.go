package kubeflow

import (
	"strconv"
)

// pyTorchJob converts the PyTorchJob of training-operator v1.
func pyTorchJob(c *conversion) {
	c.runPolicy()
	all := c.replicas(c.spec.at("pytorchReplicaSpecs"), family{
		types: []string{"Master", "Worker"}, container: "pytorch", one: []string{"Master"}, restart: "OnFailure", port: "pytorchjob-port", number: 23456,
	}, reader{})
	c.label(all, "pytorchjob-controller", "master")
	c.job.Spec.Framework = "torch"
	c.procs(all, c.spec.at("nprocPerNode"))
	if e := c.elastic(find(all, "worker")); e != nil && !c.comeAndGo(e, all) {
		c.rendezvous(e, all)
	}
	c.members(all)
	c.restarts(all, c.policy("backoffLimit"), mostRestarts)
	c.gang()
}

// procs reads how many processes a pod has: a number, or a word by which torchrun chooses the
// number itself.
func (c *conversion) procs(all []replica, r reader) {
	given, _ := r.value.(string)
	if n, ok := r.value.(int64); ok {
		given = strconv.FormatInt(n, 10)
	}
	if r.take(); !r.has() || given == "auto" {
		return
	}
	n, err := strconv.ParseInt(given, 10, 32)
	switch {
	case err == nil && n > 0 && n <= 4096 && (n == 1 || c.commands(all)):
		c.job.Spec.ProcsPerWorker = new(int32(n))
	case err == nil && n > 0 || given == "gpu" || given == "cpu":
		for i := range all {
			o, at := own(&all[i].template, all[i].container)
			if setDefault(o, "PET_NPROC_PER_NODE", given) {
				container(all[i].in.at("template"), at).at("env").warn("", "its own PET_NPROC_PER_NODE takes precedence")
			}
		}
	default:
		r.fatal("want auto, cpu, gpu or a number", "%s is not a number of processes", short(r.value))
	}
}
