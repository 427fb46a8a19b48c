package kubeflow

import (
	corev1 "k8s.io/api/core/v1"
)

// nvidiaGPU is the default processing unit.
const nvidiaGPU = "nvidia.com/gpu"

// mpiJobV1alpha1 converts the first version of MPIJob, which Arena also renders. It has one
// template for launcher and workers: the launcher gets its command and the workers its resources.
func mpiJobV1alpha1(c *conversion) {
	c.runPolicy()
	if !c.policy("cleanPodPolicy").has() {
		c.job.Spec.RunPolicy.CleanPodPolicy = "Running" // its workers were deleted with the launcher
	}
	in := c.spec.at("template")
	worker := replica{in: c.spec, role: "worker", template: c.template(in)}
	worker.container = ownContainer(worker.template, c.spec.at("mainContainer"), "mpi")
	policy := worker.template.Spec.RestartPolicy
	worker.template.Spec.RestartPolicy = ""
	launcher := replica{in: c.spec, role: "launcher", count: 1, template: *worker.template.DeepCopy(), container: worker.container, restart: "OnFailure"}
	if policy != "" {
		in.at("spec").at("restartPolicy").note("it applies to the launcher's pod: backoffLimit limits restarts, and workers stay for the launcher")
	}
	units := c.units(&worker)
	c.launcherOnly(&launcher)
	o, _ := own(&worker.template, worker.container)
	o.Command, o.Args = nil, nil
	if c.compat() {
		c.job.Spec.Compat = KubeflowV1
	}
	c.oldLabels(&launcher.template, "launcher")
	c.oldLabels(&worker.template, "worker")
	c.mpi(&launcher, &worker, c.spec.at("slotsPerWorker"))
	if !c.spec.at("slotsPerWorker").has() {
		c.job.Spec.Slots = max(units, 1)
	}
	c.restarts([]replica{launcher}, c.policy("backoffLimit"), 6)
	c.gang()
}

// units returns the number of processing units of each worker, and sets the number of workers. Both
// are given as a total, or by replicas and the limits of the container.
func (c *conversion) units(worker *replica) (each int32) {
	kind := c.spec.at("processingResourceType")
	name := kind.text()
	kind.mention(name == nvidiaGPU || name == "cpu", "the resource by which slots are counted")
	if name != "" && name != nvidiaGPU && name != "cpu" {
		kind.warn("", "want %s or cpu: %s is used", nvidiaGPU, nvidiaGPU)
	}
	if name != "cpu" {
		name = nvidiaGPU
	}
	total, perNode, node := c.spec.at("gpus"), c.spec.at("gpusPerNode").count(), int32(1)
	other, otherNode := c.spec.at("processingUnits"), c.spec.at("processingUnitsPerNode").count()
	if other.has() {
		if total.has() {
			other.fatal("keep one of them", "gpus and processingUnits are both given")
		}
		total, perNode = other, otherNode
	}
	if perNode != nil && *perNode > 0 {
		node = *perNode
	}
	if !total.has() {
		c.spec.at("gpusPerNode").mention(true, "used together with gpus")
		c.spec.at("processingUnitsPerNode").mention(true, "used together with processingUnits")
	}
	o, _ := own(&worker.template, worker.container)
	all := total.count()
	switch {
	case all != nil && *all > node && *all%node != 0:
		total.fatal("set a multiple, or replicas", "%d is not a multiple of %d on each node", *all, node)
	case all != nil && *all/node > mostPods:
		total.fatal("run fewer", "a LaunchJob has at most %d workers", mostPods)
		worker.count = 1
	case all != nil:
		each = min(*all, node)
		worker.count = max(*all/node, 1)
		setLimit(o, name, each)
	case c.spec.at("replicas").has():
		worker.count = c.spec.at("replicas").pods(1)
		if limit, ok := o.Resources.Limits[corev1.ResourceName(name)]; ok {
			each = int32(min(limit.Value(), 4096))
		}
	}
	if worker.count == 0 {
		c.spec.at("replicas").fatal("set a number from 1", "the job has no workers")
	}
	return each
}

// launcherOnly changes the template for the launcher: it has no resources and, if requested, runs
// on a control plane node.
func (c *conversion) launcherOnly(launcher *replica) {
	o, _ := own(&launcher.template, launcher.container)
	o.Resources, launcher.template.Spec.Resources = corev1.ResourceRequirements{}, nil
	if r := c.spec.like("launcherResources"); r.has() {
		r.into(&o.Resources)
	}
	if mounts := c.spec.like("mountsOnLauncher"); mounts.has() {
		mounts.note("launcher and workers have the template's volumes in any case")
	}
	const master = "node-role.kubernetes.io/master"
	if on := c.spec.at("launcherOnMaster"); on.flag() {
		on.warn("newer clusters call it node-role.kubernetes.io/control-plane: change the launcher's template", "the launcher asks for a node labeled %s", master)
		launcher.template.Spec.Tolerations = []corev1.Toleration{{Key: master, Effect: corev1.TaintEffectNoSchedule}}
		launcher.template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
				{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: master, Operator: corev1.NodeSelectorOpExists}}},
			}},
		}}
	}
}
