package controller

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/controller/children"
	"github.com/musterhq/muster/agent/controller/gang"
)

// refuse finds what the API server cannot: conflicts between a job and its templates. The error
// says what to do; nil means that the job can be tried.
func refuse(b builder) error {
	job := b.job
	for _, s := range b.slots {
		if s.own(&s.template.Spec) == nil {
			return fmt.Errorf("the template of %s has no container %s: set container to one of its containers", s.role, s.container)
		}
		for _, v := range s.template.Spec.Volumes {
			if v.Name == agentVolume || v.Name == shmVolume || v.Name == children.KeyVolume && children.ByNetwork(job) {
				return fmt.Errorf("the template of %s has a volume %s, which is the name of one of Muster's volumes: rename the volume", s.role, v.Name)
			}
		}
		if err := commandless(b, s); err != nil {
			return err
		}
	}
	return twoGangs(job, b.slots)
}

// correctable reports whether a job that is refused goes on, because a user may correct it: it is suspended, or it was
// edited after its start. Pods that run do not follow the edit.
func correctable(job *v1alpha1.LaunchJob) bool {
	return runPolicy(job).Suspend || job.Status.StartTime != nil
}

// commandless rejects a template without a command. The injected agent can only be put before a
// command in the template, because the command of the image is not known.
func commandless(b builder, s slot) error {
	if !b.unwrapped(s) {
		return nil
	}
	own := s.own(&s.template.Spec)
	switch {
	case s.launcher():
		return fmt.Errorf("the launcher's container %s has no command, and agent.delivery: %s requires one: "+
			"write the image's own command into the template, or build an image with the agent and set agent.delivery: baked", own.Name, delivery(b.job))
	case b.job.Spec.Launcher != nil:
		return nil
	case slices.ContainsFunc(b.slots, func(other slot) bool { return !b.unwrapped(other) }):
		return fmt.Errorf("container %s of %s has no command, but containers of other roles have one, so their agents would wait for it: write the command into every template, or into none", own.Name, s.role)
	case maxRestarts(b.job) > 0 || ptr.Deref(b.job.Spec.ProcsPerWorker, 1) > 1:
		return fmt.Errorf("container %s of %s has no command, so the agent cannot restart its process or start more than one: "+
			"write the command into the template, or omit restartPolicy.maxRestarts and procsPerWorker", own.Name, s.role)
	}
	if _, err := b.staticLaunch(); err != nil {
		return fmt.Errorf("container %s of %s has no command, and its ranks are not known before the pods start: %w; write the command into the template", own.Name, s.role, err)
	}
	return nil
}

// twoGangs rejects pods that the gangs of two schedulers claim, because neither would start them. A label that a job
// gets after its start claims nothing.
func twoGangs(job *v1alpha1.LaunchJob, slots []slot) error {
	asked := [][2]string{{"the labels of the LaunchJob", gang.Claimed(job.Labels, nil, "")}}
	if gang.Begun(job) {
		asked = nil
	}
	for _, s := range slots {
		asked = append(asked, [2]string{"the template of " + s.role, gang.Claimed(s.template.Labels, s.template.Annotations, s.template.Spec.SchedulerName)})
	}
	have := gang.Backend(job)
	for _, a := range asked {
		if a[1] != "" && have != "" && a[1] != have {
			return fmt.Errorf("two gang schedulers: %s by spec.gang or a template, and %s by %s: a job in two gangs never starts; keep one", have, a[1], a[0])
		}
		have = cmp.Or(have, a[1])
	}
	return nil
}
