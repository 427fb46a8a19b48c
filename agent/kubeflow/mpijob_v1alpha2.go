package kubeflow

// mpiJobV1alpha2 converts the MPIJob of mpi-operator 0.2, whose CRD no API server
// loads any more.
func mpiJobV1alpha2(c *conversion) {
	c.runPolicy()
	launcher, worker, all := c.pair(family{restart: "Never", none: []string{"Worker"}}, c.spec.at("mainContainer"))
	if c.compat() {
		c.job.Spec.Compat = KubeflowV1
	}
	for i := range all {
		c.oldLabels(&all[i].template, all[i].role)
	}
	mpi := c.spec.at("mpiDistribution")
	switch given := mpi.text(); given {
	case "":
	case "OpenMPI", "open_mpi":
		c.job.Spec.Framework = "openmpi"
	case "IntelMPI", "intel_mpi":
		c.job.Spec.Framework = "intelmpi"
	case "MPICH", "mpich":
		c.job.Spec.Framework = "mpich"
	default:
		mpi.fatal("it takes OpenMPI, IntelMPI, MPICH", "%q is not known", given)
	}
	c.mpi(launcher, worker, c.spec.at("slotsPerWorker"))
	if c.job.Spec.Framework == "mpich" || c.job.Spec.Framework == "intelmpi" {
		c.anyMPI()
	}
	if launcher != nil {
		// The launcher is a batch Job, which begins again, whatever its pods' policy is.
		launcher.restart = "OnFailure"
		c.restarts([]replica{*launcher}, c.policy("backoffLimit"), 6)
	}
	if worker != nil {
		worker.in.at("restartPolicy").mention(worker.restart == "Never", "the launcher's counts: a worker that fails ends the attempt")
	}
	c.gang()
}
