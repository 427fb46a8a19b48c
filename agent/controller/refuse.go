package controller

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// refuse finds what the API server cannot: conflicts between a job and its templates. The sentence
// says what to do; "" means that the job can be tried.
func refuse(b builder) string {
	job := b.job
	for _, s := range b.slots {
		if s.own(&s.template.Spec) == nil {
			return fmt.Sprintf("the template of %s has no container %s, which is to be the role's own: name one of its containers", s.role, s.container)
		}
		for _, v := range s.template.Spec.Volumes {
			if v.Name == agentVolume || v.Name == shmVolume {
				return fmt.Sprintf("the template of %s has a volume %s, a name that Muster gives to its own: call it otherwise", s.role, v.Name)
			}
		}
		if sentence := commandless(b, s); sentence != "" {
			return sentence
		}
	}
	return twoGangs(job, b.slots)
}

// commandless rejects a template without a command. The injected agent can only be put before a
// command in the template, because the command of the image is not known.
func commandless(b builder, s slot) string {
	if !b.unwrapped(s) {
		return ""
	}
	own := s.own(&s.template.Spec)
	switch {
	case s.launcher():
		return fmt.Sprintf("the launcher's container %s has no command, and the agent (agent.delivery: %s) can only be put before one: "+
			"write the image's own command into the template, or bake the agent into the image", own.Name, delivery(b.job))
	case b.job.Spec.Launcher != nil:
		return ""
	case slices.ContainsFunc(b.slots, func(other slot) bool { return !b.unwrapped(other) }):
		return fmt.Sprintf("container %s of %s has no command, and other roles have: the agent, which is put before theirs, would wait for it; write the command into every template, or into none", own.Name, s.role)
	case maxRestarts(b.job) > 0 || ptr.Deref(b.job.Spec.ProcsPerWorker, 1) > 1:
		return fmt.Sprintf("container %s of %s has no command, so that the agent cannot be put before it and nobody restarts its processes, or starts more than one: "+
			"write the command into the template, or leave restartPolicy.maxRestarts and procsPerWorker away", own.Name, s.role)
	}
	if _, err := b.staticLaunch(); err != nil {
		return fmt.Sprintf("container %s of %s has no command, and its ranks cannot be known beforehand: %v; write the command into the template", own.Name, s.role, err)
	}
	return ""
}

// twoGangs rejects pods that the gangs of two schedulers claim, because neither would start them.
func twoGangs(job *v1alpha1.LaunchJob, slots []slot) string {
	asked := [][2]string{{"the labels of the LaunchJob", gangOf(job.Labels, nil, "")}}
	for _, s := range slots {
		asked = append(asked, [2]string{"the template of " + s.role, gangOf(s.template.Labels, s.template.Annotations, s.template.Spec.SchedulerName)})
	}
	have := backend(job)
	for _, a := range asked {
		if a[1] != "" && have != "" && a[1] != have {
			return fmt.Sprintf("two gang schedulers at once: %s by spec.gang or a template, and %s by %s: a job of two gangs never starts; keep one", have, a[1], a[0])
		}
		have = cmp.Or(have, a[1])
	}
	return ""
}
