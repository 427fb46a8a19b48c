package kubeflow

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

const kueueQueue = "kueue.x-k8s.io/queue-name"

// templates lists the pod templates of the job.
func (c *conversion) templates() (all []*corev1.PodTemplateSpec) {
	if l := c.job.Spec.Launcher; l != nil {
		all = append(all, &l.Template)
	}
	for i := range c.job.Spec.Roles {
		all = append(all, &c.job.Spec.Roles[i].Template)
	}
	return all
}

// pods returns the number of pods of the job, including the launcher.
func (c *conversion) pods() (n int32) {
	if c.job.Spec.Launcher != nil {
		n++
	}
	for _, r := range c.job.Spec.Roles {
		switch {
		case r.Replicas != nil:
			n += *r.Replicas
		case c.job.Spec.Workers != nil:
			n += *c.job.Spec.Workers
		}
	}
	return n
}

// gang converts a scheduling policy to a gang. The operator's own flags say which scheduler it
// used. In the object only two things show it: the scheduler of the pods, and a queue, which is
// Volcano's.
func (c *conversion) gang() {
	scheduler := c.scheduler()
	p := c.policy("schedulingPolicy")
	if queue := c.job.Labels[kueueQueue]; queue != "" {
		c.kueue(queue, p)
		return
	}
	if !p.has() {
		if c.spec.at("schedulerName").has() && scheduler == "volcano" {
			c.job.Spec.Gang = &v1alpha1.Gang{Backend: "volcano"}
		}
		return
	}
	g := &v1alpha1.Gang{Queue: p.at("queue").text(), PriorityClassName: p.at("priorityClass").text()}
	switch {
	case scheduler == "volcano" || scheduler == "" && g.Queue != "":
		g.Backend = "volcano"
	case scheduler != "" && scheduler != "default-scheduler":
		g.Backend = "coscheduling"
		if scheduler != "scheduler-plugins-scheduler" {
			g.SchedulerName = scheduler
		}
		if g.Queue != "" {
			p.at("queue").warn("", "queues are for Volcano, but the pods' scheduler is %s: not carried", scheduler)
			g.Queue = ""
		}
	default:
		p.warn("write schedulerName: volcano, or that of your scheduler, into the pod templates, or spec.gang into the LaunchJob",
			"the object does not name the operator's gang scheduler: not carried, pods are scheduled one by one")
		return
	}
	least := p.at("minAvailable")
	if g.MinMember = least.count(); g.MinMember != nil && (*g.MinMember < 1 || *g.MinMember > c.pods()) {
		least.warn("", "%d of %d pods is not possible: all must start at once", *g.MinMember, c.pods())
		g.MinMember = nil
	}
	c.job.Spec.Gang = g
}

// scheduler copies the scheduler that older operators read from spec into the templates, and
// returns the scheduler of the pods.
func (c *conversion) scheduler() (name string) {
	named := c.spec.at("schedulerName").text()
	for _, t := range c.templates() {
		t.Spec.SchedulerName = cmp.Or(t.Spec.SchedulerName, named)
		name = cmp.Or(name, t.Spec.SchedulerName)
	}
	return name
}

// kueue takes the queue from the job's label. Muster's controller waits for Kueue before it creates pods, so the job
// need not be suspended.
func (c *conversion) kueue(queue string, p reader) {
	label := c.object.at("metadata").at("labels").at(kueueQueue)
	c.job.Spec.Gang = &v1alpha1.Gang{Backend: "kueue", Queue: queue}
	if p.at("queue").has() || p.at("minAvailable").has() {
		p.fatal("keep one", "two gang schedulers, one of them Kueue by the label %s: a job in two gangs never starts", kueueQueue)
	}
	if c.job.Spec.RunPolicy != nil && c.job.Spec.RunPolicy.Suspend {
		label.warn("set runPolicy.suspend to false", "Kueue does not resume LaunchJobs, Muster creates their pods when Kueue admits them: the job stays suspended")
	}
}
