package kubeflow

// mpiJobV1 converts the MPIJob of mpi-operator 0.2 to 0.3 and of training-operator, in which mpirun
// reaches its workers by kubectl exec.
func mpiJobV1(c *conversion) {
	c.runPolicy()
	launcher, worker, all := c.pair(family{container: "mpi", restart: "Never", none: []string{"Worker"}}, c.spec.at("mainContainer"))
	c.label(all, "mpijob-controller", "launcher")
	for i := range all {
		c.oldLabels(&all[i].template, all[i].role)
	}
	c.mpi(launcher, worker, c.spec.at("slotsPerWorker"))
	if launcher != nil && worker != nil && gpus(launcher.template) {
		c.job.Spec.Launcher.Slots = c.job.Spec.Slots
	}
	c.restarts(all, c.policy("backoffLimit"), mostRestarts)
	c.gang()
}
