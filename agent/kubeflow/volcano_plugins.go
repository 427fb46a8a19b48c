package kubeflow

import (
	"strings"
)

// plugins is the configuration in a Volcano Job's plugins.
type plugins struct {
	framework string            // mpi, torch, tensorflow, plain
	names     map[string]string // the task of each role
	roles     []string          // in the order of their ranks; empty: those of the tasks
	svc, env  bool
}

// pluginFamilies are the plugins that set the environment of a framework.
var pluginFamilies = []struct {
	plugin, framework string
	roles             []string // their flags; the default value is the role's name
}{
	{"mpi", "mpi", []string{"master", "worker"}},
	{"pytorch", "torch", []string{"master", "worker"}},
	{"tensorflow", "tensorflow", []string{"chief", "ps", "worker", "evaluator"}},
}

// plugins reads the role of each task, and reports what other plugins would have done.
func (c *conversion) plugins(tasks []*task) plugins {
	p := plugins{framework: "plain", names: map[string]string{}}
	in := c.spec.at("plugins")
	for _, f := range pluginFamilies {
		if !in.at(f.plugin).has() {
			continue
		}
		if p.framework != "plain" {
			in.at(f.plugin).fatal("keep one of them", "a job has one framework, but the plugins are for several")
		}
		p.framework, p.roles = f.framework, f.roles
		for _, role := range f.roles {
			p.names[role] = role
		}
		c.arguments(in.at(f.plugin), p.names)
	}
	p.svc = in.at("svc").has() || p.framework != "plain"
	p.env = in.at("env").has()
	in.at("env").mention(true, "VC_TASK_INDEX and VK_TASK_INDEX are set where possible")
	if !in.at("pytorch").has() && !in.at("tensorflow").has() && !in.at("mpi").has() {
		p.ranks(tasks)
	}
	if p.framework == "mpi" {
		p.names["launcher"] = p.names["master"]
		delete(p.names, "master")
	}
	c.otherPlugins(in)
	return p
}

// arguments reads --role=task and reports any other argument.
func (c *conversion) arguments(in reader, names map[string]string) {
	for _, a := range in.list() {
		name, value, given := strings.Cut(strings.TrimLeft(a.text(), "-"), "=")
		switch {
		case given && names[name] != "":
			names[name] = value
		case name == "port" && in.path == "spec.plugins.mpi":
			a.note("it is for sshd, which does not run")
		case name == "port":
			a.warn("read it from the environment", "Muster chooses the ports, new ones for each attempt: not carried")
		case strings.HasPrefix(name, "wait-master"):
			a.note("members wait for each other in their pods")
		default:
			a.warn("", "not carried")
		}
	}
	in.mentionNone()
}

// mentionNone takes an empty list.
func (r reader) mentionNone() {
	if l, ok := r.value.([]any); ok && len(l) == 0 {
		r.take()
	}
}

// ranks recognizes an MPI job without the plugin mpi, as users wrote them before that plugin
// existed. In such a job a task with one pod runs mpirun, and the pods of the other wait with sshd.
func (p *plugins) ranks(tasks []*task) {
	if len(tasks) != 2 {
		return
	}
	for i, t := range tasks {
		o, _ := own(&t.template, "")
		other, _ := own(&tasks[1-i].template, "")
		line, wait := strings.Join(append(o.Command, o.Args...), " "), strings.Join(append(other.Command, other.Args...), " ")
		if t.count == 1 && (strings.Contains(line, "mpirun") || strings.Contains(line, "mpiexec")) && (sshd().MatchString(wait) || idling().MatchString(wait)) {
			p.framework, p.roles = "mpi", []string{"master", "worker"}
			p.names["master"], p.names["worker"] = t.name, tasks[1-i].name
		}
	}
}

// otherPlugins reports what the other plugins would have done.
func (c *conversion) otherPlugins(in reader) {
	if svc := in.at("svc"); svc.has() {
		open := false
		for _, a := range svc.list() {
			switch name, _, _ := strings.Cut(strings.TrimLeft(a.text(), "-"), "="); name {
			case "disable-network-policy":
				open = true
			case "publish-not-ready-addresses":
				a.note("names are published as soon as the pods exist")
			case "inject-hosts-env":
			default:
				a.warn("", "not carried")
			}
		}
		svc.mentionNone()
		if !open {
			svc.warn("docs/guides/join.md has one", "no NetworkPolicy is created: other pods can reach the pods of the job")
		}
	}
	if ssh := in.at("ssh"); ssh.has() {
		ssh.warn("", "there is no ssh, and no key in ~/.ssh: mpirun reaches its workers through the agent")
	}
	for _, key := range in.keys() {
		switch f := in.at(key); key {
		case "env", "svc", "ssh", "mpi", "pytorch", "tensorflow":
			f.mentionNone()
		case "ray":
			f.fatal("write the driver as the command of a LaunchJob with framework: ray", "Muster starts Ray's head and nodes itself, and needs only the driver")
		default:
			f.warn("", "there is no such plugin in Muster: not carried")
		}
	}
}
