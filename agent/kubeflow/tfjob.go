package kubeflow

// tfJob converts the TFJob of training-operator v1, and older ones whose run policy and scheduler
// are in spec itself.
func tfJob(c *conversion) {
	c.runPolicy()
	all := c.replicas(c.spec.at("tfReplicaSpecs"), family{
		types: []string{"Chief", "Master", "PS", "Worker", "Evaluator"}, container: "tensorflow", one: []string{"Chief", "Master", "Evaluator"}, restart: "Never", port: "tfjob-port", number: 2222,
	}, reader{})
	c.label(all, "tfjob-controller", "chief", "master")
	c.job.Spec.Framework = "tensorflow"
	c.members(all)
	success := c.spec.at("successPolicy")
	switch given := success.text(); {
	case given == "":
	case given != "AllWorkers":
		success.fatal("omit it, or write AllWorkers", "%q is not a success policy", given)
	case find(all, "chief") != nil || find(all, "master") != nil:
		success.note("the chief's exit decides, as with the operator")
	case find(all, "worker") != nil:
		c.job.Spec.Success = "worker"
	}
	if sparse := c.spec.at("enableDynamicWorker"); sparse.flag() {
		sparse.warn("agent run --dynamic-workers gives the sparse form, in a job with a launcher", "TF_CONFIG has all workers, not only the worker itself; workers do not join or leave: not carried")
	}
	c.restarts(all, c.policy("backoffLimit"), mostRestarts)
	c.gang()
}
