package kubeflow

import (
	"fmt"
	"slices"

	"github.com/musterhq/muster/agent/framework"
)

// ranks checks that the framework can give each pod its place, as the members will ask it. If it
// returns an error here, the job could not start.
func (c *conversion) ranks() {
	spec := c.job.Spec
	f, err := framework.Chosen(spec.Framework, spec.Compat)
	if err != nil {
		c.object.at("kind").fatal("", "%v", err)
		return
	}
	cluster := framework.Cluster{Job: c.job.Name, Namespace: c.job.Namespace, RunDir: "/tmp", Port: 23456}
	bare, dressed := -1, false
	for i, role := range spec.Roles {
		o, _ := own(&spec.Roles[i].Template, role.Container)
		if len(o.Command) == 0 && !c.baked() {
			bare = i
		} else {
			dressed = true
		}
		if words := slices.Concat(o.Command, o.Args); len(cluster.Command) == 0 {
			cluster.Command = words
		}
		n := spec.Workers
		if role.Name != "worker" {
			n = role.Replicas
		}
		for index := range *n {
			host := fmt.Sprintf("%s-%s-%d", c.job.Name, role.Name, index)
			node := framework.Node{Name: host, Host: host, IP: host, Slots: 1, Index: len(cluster.Workers)}
			if len(spec.Roles) > 1 || role.Name != "worker" {
				node.Role, node.RoleIndex = role.Name, int(index)
			}
			cluster.Workers = append(cluster.Workers, node)
		}
	}
	if len(cluster.Command) == 0 || bare >= 0 {
		cluster.Command = []string{"the image's own"}
	}
	launch, err := f.Prepare(cluster)
	switch {
	case err != nil && spec.Compat == "":
		c.spec.fatal("without --compat=none the environment is the operator's", "the job could not start: %v", err)
	case err != nil:
		c.spec.fatal("", "the job could not start: %v", err)
	case bare >= 0 && dressed:
		c.spec.fatal("write the image's command into every template, or into none", "role %s has no command, but other roles have one, so their agents would wait for it", spec.Roles[bare].Name)
	case bare >= 0 && len(launch.Processes) != len(cluster.Workers):
		c.spec.fatal("write the image's command into the template", "role %s has no command, and its ranks are not known before the pods start", spec.Roles[bare].Name)
	}
}
