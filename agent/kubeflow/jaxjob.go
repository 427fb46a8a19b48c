package kubeflow

// jaxJob converts the JAXJob of training-operator 1.9.
func jaxJob(c *conversion) {
	c.runPolicy()
	all := c.replicas(c.spec.at("jaxReplicaSpecs"), family{
		types: []string{"Worker"}, container: "jax", restart: "Never", port: "jaxjob-port", number: 6666,
	}, reader{})
	c.label(all, "jaxjob-controller")
	c.job.Spec.Framework = "jax"
	c.members(all)
	c.restarts(all, c.policy("backoffLimit"), mostRestarts)
	c.gang()
}
