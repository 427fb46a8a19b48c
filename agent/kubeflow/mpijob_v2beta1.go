package kubeflow

// mpiJobV2beta1 converts the MPIJob of mpi-operator 0.4 and later: mpirun reaches
// its workers by ssh, of which nothing is left.
func mpiJobV2beta1(c *conversion) {
	c.runPolicy()
	launcher, worker, all := c.pair(family{restart: "Never", none: []string{"Worker"}}, reader{})
	if launcher != nil && !launcher.in.at("restartPolicy").has() {
		launcher.restart = "OnFailure"
	}
	c.label(all, "mpi-operator")
	for i := range all {
		if c.compat() {
			all[i].template.Labels["training.kubeflow.org/job-role"] = all[i].role
			delete(all[i].template.Labels, "training.kubeflow.org/replica-type")
		}
	}
	impl := c.spec.at("mpiImplementation")
	switch given := impl.text(); given {
	case "":
	case "OpenMPI":
		c.job.Spec.Framework = "openmpi"
	case "Intel":
		c.job.Spec.Framework = "intelmpi"
	case "MPICH":
		c.job.Spec.Framework = "mpich"
	default:
		impl.fatal("it takes OpenMPI, Intel, MPICH", "%q is not known", given)
	}
	c.mpi(launcher, worker, c.spec.at("slotsPerWorker"))
	if c.spec.at("runLauncherAsWorker").flag() && c.job.Spec.Launcher != nil {
		c.job.Spec.Launcher.Slots = c.job.Spec.Slots
	}
	c.anyMPI()
	c.withoutSSH()
	// The launcher is a batch Job, which begins again 6 times, whatever its pods'
	// policy is.
	if launcher != nil {
		launcher.restart = "OnFailure"
		c.restarts([]replica{*launcher}, c.policy("backoffLimit"), 6)
	}
	if worker != nil {
		worker.in.at("restartPolicy").mention(worker.restart == "Never", "the launcher's counts: a worker that fails ends the attempt")
	}
	c.gang()
}

// withoutSSH names what was there for ssh alone.
func (c *conversion) withoutSSH() {
	if path := c.spec.at("sshAuthMountPath"); path.has() {
		path.note("there is no ssh, and no key")
	}
	creation := c.spec.at("launcherCreationPolicy")
	switch given := creation.text(); given {
	case "", "AtStartup":
	case "WaitForWorkersReady":
		creation.note("the launcher's pod is made at once, and waits in there until every worker answers")
	default:
		creation.fatal("it takes AtStartup, WaitForWorkersReady", "%q is not known", given)
	}
}
