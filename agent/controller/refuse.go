package controller

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// refuse finds what the API server could not: what is wrong between a job and its
// templates. The sentence says what to do; "" is a job that can be tried.
func refuse(b builder) string {
	job := b.job
	for _, s := range b.slots {
		if s.own(&s.template.Spec) == nil {
			return fmt.Sprintf("the template of %s has no container %s, which is to be the role's own: name one of its containers", s.role, s.container)
		}
		if reserved := reservedVolume(&s.template.Spec); reserved != "" {
			return fmt.Sprintf("the template of %s has a volume %s, a name that Muster gives to its own: call it otherwise", s.role, reserved)
		}
		if sentence := commandless(b, s); sentence != "" {
			return sentence
		}
	}
	return twoGangs(job, b.slots)
}

func reservedVolume(spec *corev1.PodSpec) string {
	for _, name := range []string{agentVolume, shmVolume} {
		if slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == name }) {
			return name
		}
	}
	return ""
}

// commandless: an agent that is injected can only be put before a command that
// the template has: what the image would run is not known.
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
	case b.job.Spec.RestartPolicy != nil && b.job.Spec.RestartPolicy.MaxRestarts > 0:
		return fmt.Sprintf("container %s of %s has no command, so that the agent cannot be put before it and nobody restarts its processes: "+
			"write the command into the template, or leave restartPolicy.maxRestarts away", own.Name, s.role)
	case b.job.Spec.ProcsPerWorker != nil && *b.job.Spec.ProcsPerWorker > 1:
		return fmt.Sprintf("container %s of %s has no command, so that nobody starts %d processes in it: write the command into the template, or leave procsPerWorker away",
			own.Name, s.role, *b.job.Spec.ProcsPerWorker)
	}
	if _, err := b.staticLaunch(); err != nil {
		return fmt.Sprintf("container %s of %s has no command, and its ranks cannot be known beforehand: %v; write the command into the template", own.Name, s.role, err)
	}
	return ""
}

// twoGangs: a pod that two schedulers' gangs claim is started by none.
func twoGangs(job *v1alpha1.LaunchJob, slots []slot) string {
	have := backend(job)
	check := func(where, other string) string {
		switch {
		case other == "" || other == have:
			return ""
		case have == "":
			have = other
			return ""
		}
		return fmt.Sprintf("two gang schedulers at once: %s by spec.gang or a template, and %s by %s: a job of two gangs never starts; keep one", have, other, where)
	}
	if sentence := check("the labels of the LaunchJob", gangOf(job.Labels, nil, "")); sentence != "" {
		return sentence
	}
	for _, s := range slots {
		if sentence := check("the template of "+s.role, gangOf(s.template.Labels, s.template.Annotations, s.template.Spec.SchedulerName)); sentence != "" {
			return sentence
		}
	}
	return ""
}
