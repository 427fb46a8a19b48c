package kubeflow

// mxJob converts the MXJob of training-operator up to 1.8, for MXNet and BytePS.
func mxJob(c *conversion) {
	c.runPolicy()
	mode := c.spec.at("jobMode")
	switch given := mode.text(); given {
	case "", "MXTrain":
	case "MXTune":
		mode.fatal("run the tuner as three Deployments, or training alone with MXTrain", "Muster has no framework for the roles of TVM's tuner")
	default:
		mode.fatal("want MXTrain", "unknown mode %q", given)
	}
	types := []string{"Scheduler", "Server", "Worker"}
	if c.spec.at("jobMode").value == "MXTune" {
		types = append(types, "TunerTracker", "TunerServer", "Tuner")
	}
	all := c.replicas(c.spec.at("mxReplicaSpecs"), family{
		types: types, container: "mxnet", one: []string{"Scheduler"}, restart: "Never", port: "mxjob-port", number: 9091,
	}, reader{})
	c.label(all, "mxjob-controller", "server")
	c.job.Spec.Framework = "mxnet"
	c.members(all)
	c.restarts(all, c.policy("backoffLimit"), mostRestarts)
	c.gang()
}
