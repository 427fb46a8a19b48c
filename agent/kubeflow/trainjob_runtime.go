package kubeflow

import (
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// ancestor is the label that says what a job of a runtime is for.
const ancestor = "trainer.kubeflow.org/trainjob-ancestor-step"

// replicatedJob is one of the jobs in a runtime's JobSet.
type replicatedJob struct {
	in       reader
	name     string
	trainer  bool // TrainJob.spec.trainer applies to it
	template corev1.PodTemplateSpec
}

// container returns its own container, which Trainer calls node.
func (j *replicatedJob) container() string {
	return ownContainer(j.template, reader{}, "node")
}

// replicatedJobs reads the jobs of a JobSet, with the patches of the TrainJob.
func (c *conversion) replicatedJobs(set reader) (all []*replicatedJob) {
	for _, in := range set.at("replicatedJobs").list() {
		meta, spec := in.at("template").at("metadata"), in.at("template").at("spec")
		step := meta.at("labels").at(ancestor)
		j := &replicatedJob{in: in, name: in.at("name").text(), trainer: step.text() == "trainer"}
		if step := step.text(); step == "dataset-initializer" || step == "model-initializer" || strings.HasSuffix(j.name, "-initializer") {
			in.at("name").fatal("run it first, as a separate Job, and remove it from the runtime", "a LaunchJob has no pods that run before the others")
			continue
		}
		if j.name != "node" && j.name != "launcher" {
			in.at("name").note("pods are named after their role")
		}
		for _, key := range []string{"replicas", "dependsOn", "groupName"} {
			in.at(key).mention(true, "the members of a LaunchJob are created at once, and wait for each other in their pods")
		}
		for _, key := range []string{"parallelism", "completions", "completionMode"} {
			spec.at(key).mention(true, "the number of nodes applies")
		}
		j.template = c.template(spec.at("template"))
		if j.template.Spec.RestartPolicy != "" {
			spec.at("template").at("spec").at("restartPolicy").note("backoffLimit applies instead")
			j.template.Spec.RestartPolicy = ""
		}
		all = append(all, j)
	}
	if len(all) == 1 {
		all[0].trainer = true
	}
	if len(all) == 0 {
		set.at("replicatedJobs").fatal("add a replicatedJob named node", "the runtime has no trainer job")
	}
	for _, j := range all {
		if j.trainer || j.name == "node" && len(all) == 1 {
			c.trainer(j)
		}
	}
	return all
}

// trainer applies the TrainJob's settings of its nodes to the runtime's container.
func (c *conversion) trainer(j *replicatedJob) {
	t := c.spec.at("trainer")
	if !slices.ContainsFunc(j.template.Spec.Containers, func(o corev1.Container) bool { return o.Name == "node" }) {
		return // Trainer looks for that name, and leaves a runtime without it unchanged
	}
	o, _ := own(&j.template, "node")
	if image := t.at("image"); image.has() {
		o.Image = image.text()
	}
	if words := t.at("command"); words.has() {
		o.Command = nil
		words.into(&o.Command)
	}
	if words := t.at("args"); words.has() {
		o.Args = nil
		words.into(&o.Args)
	}
	if r := t.at("resourcesPerNode"); r.has() {
		o.Resources = corev1.ResourceRequirements{}
		r.into(&o.Resources)
	}
	var env []corev1.EnvVar
	if t.at("env").has() {
		t.at("env").into(&env)
	}
	o.Env = upsert(o.Env, env)
}

// upsert adds variables, and replaces those of the same name.
func upsert(have, over []corev1.EnvVar) []corev1.EnvVar {
	for _, v := range over {
		found := false
		for i := range have {
			if have[i].Name == v.Name {
				have[i], found = v, true
			}
		}
		if !found {
			have = append(have, v)
		}
	}
	return have
}

// jobSet reads the fields of a JobSet besides its jobs.
func (c *conversion) jobSet(t reader) {
	meta, spec := t.at("metadata"), t.at("spec")
	c.job.Labels = merged(merged(meta.at("labels").texts(), c.spec.at("labels").texts()), c.job.Labels)
	c.job.Annotations = merged(merged(meta.at("annotations").texts(), c.spec.at("annotations").texts()), c.job.Annotations)
	c.job.Spec.RunPolicy.TTLSecondsAfterFinished = spec.at("ttlSecondsAfterFinished").count()
	if n := spec.at("failurePolicy").at("maxRestarts").count(); n != nil {
		c.job.Spec.RunPolicy.BackoffLimit = min(*n, mostRestarts)
	}
	spec.at("network").at("publishNotReadyAddresses").mention(true, "names are published as soon as the pods exist")
	spec.at("network").at("enableDNSHostnames").mention(spec.at("network").at("enableDNSHostnames").value == true, "pods have names in any case")
	success := spec.at("successPolicy")
	if raw, _ := json.Marshal(success.value); string(raw) == `{"operator":"All","targetReplicatedJobs":["launcher"]}` {
		success.note("the launcher's exit decides")
	}
}
