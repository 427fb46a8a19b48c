package kubeflow

import (
	"strings"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// task is one task of a Volcano Job.
type task struct {
	replica
	name string
}

// volcanoJob converts Volcano's own Job. The arguments of its plugins say which role each task has
// in the framework.
func volcanoJob(c *conversion) {
	c.job.Spec.RunPolicy = &v1alpha1.RunPolicy{CleanPodPolicy: "Running", TTLSecondsAfterFinished: c.spec.at("ttlSecondsAfterFinished").count()}
	tasks := c.tasks()
	p := c.plugins(tasks)
	if len(tasks) == 0 {
		return
	}
	c.sharedVolumes(tasks)
	c.hostFiles(tasks, p)
	if p.framework == "mpi" {
		c.volcanoMPI(tasks, p)
	} else {
		c.volcanoMembers(tasks, p)
	}
	c.volcanoPolicies(tasks)
	c.volcanoGang()
}

// tasks reads the tasks of the Job.
func (c *conversion) tasks() (all []*task) {
	specs := c.spec.at("tasks")
	for _, in := range specs.list() {
		t := &task{name: in.at("name").text()}
		t.in, t.role, t.count = in, strings.ToLower(t.name), in.at("replicas").pods(0)
		if t.count == 0 {
			in.warn("", "it has no pods, and is omitted with its template")
			continue
		}
		t.template = c.template(in.at("template"))
		t.restart = string(t.template.Spec.RestartPolicy)
		t.template.Spec.RestartPolicy = ""
		in.at("dependsOn").mention(true, "the members of a LaunchJob are created at once, and wait for each other in their pods")
		all = append(all, t)
	}
	if len(all) == 0 && !specs.has() {
		specs.fatal("add tasks", "the job has no tasks")
	}
	return all
}

// volcanoMPI makes launcher and workers from the two tasks.
func (c *conversion) volcanoMPI(tasks []*task, p plugins) {
	var launcher, worker *replica
	for _, t := range tasks {
		switch t.name {
		case p.names["launcher"]:
			t.role, launcher = "launcher", &t.replica
		case p.names["worker"]:
			t.role, worker = "worker", &t.replica
		default:
			t.in.at("name").fatal("remove it", "an MPI job has a launcher and workers, and %s is neither", t.name)
		}
	}
	if launcher == nil || worker == nil {
		c.spec.at("tasks").fatal("name them in the arguments of the plugin mpi", "task %s or task %s is missing", p.names["launcher"], p.names["worker"])
		return
	}
	c.mpi(launcher, worker, reader{nil, "spec.slots", c.object.book})
}

// volcanoMembers makes a role from each task.
func (c *conversion) volcanoMembers(tasks []*task, p plugins) {
	c.job.Spec.Framework = p.framework
	var all []replica
	for _, role := range p.roles {
		for _, t := range tasks {
			if t.name == p.names[role] {
				t.role = role
				all = append(all, t.replica)
			}
		}
	}
	for _, t := range tasks {
		switch {
		case find(all, t.role) != nil && p.names[t.role] == t.name:
		case len(p.roles) > 0:
			t.in.at("name").fatal("name it in the arguments of the plugin", "the framework supports the tasks %s, but not %s", strings.Join(p.roles, ", "), t.name)
		case t.role == "launcher" || len(t.role) > 16 || !jobName().MatchString(t.role):
			t.in.at("name").fatal("choose another one", "%s: a role's name has at most 16 lowercase letters, digits and dashes, and cannot be launcher", t.name)
		default:
			all = append(all, t.replica)
		}
	}
	if len(all) > 8 {
		c.spec.at("tasks").fatal("combine similar tasks", "%d tasks are more than the 8 roles of a LaunchJob", len(all))
	}
	c.members(all)
}

// volcanoGang sets Volcano's scheduler and gang.
func (c *conversion) volcanoGang() {
	c.job.Spec.Gang = &v1alpha1.Gang{
		Backend: "volcano", Queue: c.spec.at("queue").text(), PriorityClassName: c.spec.at("priorityClassName").text(),
	}
	if name := c.spec.at("schedulerName").text(); name != "volcano" {
		c.job.Spec.Gang.SchedulerName = name
	}
	least := c.spec.at("minAvailable")
	if n := least.count(); n != nil && *n > 0 {
		c.job.Spec.Gang.MinMember = n
		if *n > c.pods() {
			least.warn("", "%d of %d pods is not possible: all must start at once", *n, c.pods())
			c.job.Spec.Gang.MinMember = nil
		}
	}
}
