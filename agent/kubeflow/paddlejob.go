package kubeflow

// paddleJob converts the PaddleJob of training-operator v1. A Master is a parameter server.
func paddleJob(c *conversion) {
	c.runPolicy()
	all := c.replicas(c.spec.at("paddleReplicaSpecs"), family{
		types: []string{"Master", "Worker"}, container: "paddle", restart: "OnFailure", port: "master", number: 36543,
	}, reader{})
	c.label(all, "paddlejob-controller", "master")
	c.job.Spec.Framework = "paddle"
	c.members(all)
	if e := c.spec.at("elasticPolicy"); e.has() {
		for _, key := range []string{"minReplicas", "maxReplicas", "metrics"} {
			if f := e.at(key); f.has() {
				f.warn("", "a job without a launcher has a fixed number of workers, and no autoscaler is created")
			}
		}
		if f := e.at("maxRestarts"); f.has() {
			f.warn("set runPolicy.backoffLimit", "the operator ignores it: not carried")
		}
	}
	c.restarts(all, c.policy("backoffLimit"), mostRestarts)
	c.gang()
}
