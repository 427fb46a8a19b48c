package kubeflow

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// replica is one replica type of a job.
type replica struct {
	in        reader
	role      string // the type in lower case
	count     int32
	template  corev1.PodTemplateSpec
	container string // the own container; "": the first
	restart   string // Always, OnFailure, Never, ExitCode
}

// family is what differs between the operator's kinds.
type family struct {
	types     []string // in the order of their ranks
	container string   // the one that the operator looks for
	restart   string   // default policy
	one       []string // types with at most one pod
	none      []string // types that have no pod by default
	port      string   // the name of the port that is in the operator's environment
	number    int32    // the default of that port
}

// replicas reads the map of replica types, in the order of the family's. Upper and lower case of a
// type do not matter. A type without pods is left out.
func (c *conversion) replicas(specs reader, f family, main reader) (all []replica) {
	if !specs.has() {
		specs.fatal("add "+strings.Join(f.types, " or "), "the job has no replicas")
		return nil
	}
	seen := map[string]bool{}
	for _, key := range specs.keys() {
		known := slices.Contains(lower(f.types), strings.ToLower(key))
		switch {
		case !known:
			specs.at(key).fatal("want "+strings.Join(f.types, ", "), "this kind has no replica type %s", key)
		case seen[strings.ToLower(key)]:
			specs.at(key).fatal("keep one", "%s appears twice", key)
		}
		seen[strings.ToLower(key)] = true
	}
	for _, t := range f.types {
		in := specs.like(t)
		if !in.has() {
			continue
		}
		r := replica{in: in, role: strings.ToLower(t), count: 1, restart: f.restart}
		if slices.Contains(f.none, t) {
			r.count = 0
		}
		r.count = in.at("replicas").pods(r.count)
		if r.count == 0 {
			in.warn("", "it has no pods, and is omitted with its template")
			continue
		}
		if r.count > 1 && slices.Contains(f.one, t) {
			in.at("replicas").fatal("set 1", "a job has one %s, not %d", t, r.count)
		}
		r.template = c.template(in.at("template"))
		r.container = ownContainer(r.template, main, f.container)
		c.replicaRestart(&r)
		otherPort(r, f)
		all = append(all, r)
	}
	return all
}

// replicaRestart reads the restart policy of the type. The operators put it over the one in the
// template, which LaunchJobs do not accept either.
func (c *conversion) replicaRestart(r *replica) {
	given := r.in.at("restartPolicy")
	switch policy := given.text(); policy {
	case "":
	case "Always", "OnFailure", "Never", "ExitCode":
		r.restart = policy
	default:
		given.fatal("want Always, OnFailure, Never or ExitCode", "%q is not a restart policy", policy)
	}
	if r.template.Spec.RestartPolicy != "" {
		r.in.at("template").at("spec").at("restartPolicy").note("the operator overrides it with that of the replica type, which is %s", r.restart)
		r.template.Spec.RestartPolicy = ""
	}
}

// otherPort reports that the LaunchJob uses another port than the operator's environment would
// have.
func otherPort(r replica, f family) {
	for i, o := range r.template.Spec.Containers {
		for k, p := range o.Ports {
			if f.port != "" && o.Name == f.container && p.Name == f.port && p.ContainerPort != f.number {
				container(r.in.at("template"), i).at("ports").list()[k].at("containerPort").note("all members get %d; a program with this number in its code keeps using it", f.number)
			}
		}
	}
}

// members adds replica types as roles of a job without a launcher.
func (c *conversion) members(all []replica) {
	for _, r := range all {
		role := v1alpha1.Role{Name: r.role, Container: r.container, Template: r.template}
		if r.role == "worker" {
			c.job.Spec.Workers = new(r.count)
		} else {
			role.Replicas = new(r.count)
		}
		c.job.Spec.Roles = append(c.job.Spec.Roles, role)
	}
}

// find returns the replica type with that role, or nil.
func find(all []replica, role string) *replica {
	for i := range all {
		if all[i].role == role {
			return &all[i]
		}
	}
	return nil
}

// label gives the pods the operator's labels. Like the operator, it puts them over the user's.
func (c *conversion) label(all []replica, operator string, master ...string) {
	if !c.compat() {
		return
	}
	c.job.Spec.Compat = KubeflowV1
	for i := range all {
		labels := map[string]string{
			"training.kubeflow.org/job-name":      c.job.Name,
			"training.kubeflow.org/operator-name": operator,
			"training.kubeflow.org/replica-type":  all[i].role,
		}
		if slices.Contains(master, all[i].role) {
			labels["training.kubeflow.org/job-role"] = "master"
		}
		all[i].template.Labels = merged(all[i].template.Labels, labels)
	}
}
