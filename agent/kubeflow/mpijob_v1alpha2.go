package kubeflow

// mpiJobV1alpha2 converts the MPIJob of mpi-operator 0.2. Current API servers no longer accept its
// CRD.
func mpiJobV1alpha2(c *conversion) {
	c.runPolicy()
	launcher, worker, all := c.pair(family{restart: "Never", none: []string{"Worker"}}, c.spec.at("mainContainer"))
	if c.compat() {
		c.job.Spec.Compat = KubeflowV1
	}
	for i := range all {
		c.oldLabels(&all[i].template, all[i].role)
	}
	c.implementation(c.spec.at("mpiDistribution"))
	c.mpi(launcher, worker, c.spec.at("slotsPerWorker"))
	c.launcherRestarts(launcher, worker)
	c.gang()
}
