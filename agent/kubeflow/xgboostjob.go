package kubeflow

// xgBoostJob converts the XGBoostJob of training-operator v1, which LightGBM used as well.
func xgBoostJob(c *conversion) {
	c.runPolicy()
	all := c.replicas(c.spec.at("xgbReplicaSpecs"), family{
		types: []string{"Master", "Worker"}, container: "xgboost", one: []string{"Master"}, restart: "Never", port: "xgboostjob-port", number: 9999,
	}, reader{})
	c.label(all, "xgboostjob-controller", "master")
	c.job.Spec.Framework = "xgboost"
	c.members(all)
	c.restarts(all, c.policy("backoffLimit"), mostRestarts)
	c.gang()
}
