package kubeflow

// mpiJobV2beta1 converts the MPIJob of mpi-operator 0.4 and later, in which mpirun reaches its
// workers by ssh. Nothing of the ssh setup is carried over.
func mpiJobV2beta1(c *conversion) {
	c.runPolicy()
	launcher, worker, all := c.pair(family{restart: "Never", none: []string{"Worker"}}, reader{})
	c.label(all, "mpi-operator")
	for i := range all {
		if c.compat() {
			all[i].template.Labels["training.kubeflow.org/job-role"] = all[i].role
			delete(all[i].template.Labels, "training.kubeflow.org/replica-type")
		}
	}
	c.implementation(c.spec.at("mpiImplementation"))
	c.mpi(launcher, worker, c.spec.at("slotsPerWorker"))
	if c.spec.at("runLauncherAsWorker").flag() && c.job.Spec.Launcher != nil {
		c.job.Spec.Launcher.Slots = c.job.Spec.Slots
	}
	c.withoutSSH()
	c.launcherRestarts(launcher, worker)
	c.gang()
}

// withoutSSH reports the fields that were only for ssh.
func (c *conversion) withoutSSH() {
	if path := c.spec.at("sshAuthMountPath"); path.has() {
		path.note("there is no ssh, and no key")
	}
	creation := c.spec.at("launcherCreationPolicy")
	switch given := creation.text(); given {
	case "", "AtStartup":
	case "WaitForWorkersReady":
		creation.note("the launcher's pod is created at once, and waits until every worker answers")
	default:
		creation.fatal("want AtStartup or WaitForWorkersReady", "unknown policy %q", given)
	}
}
