package framework

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// kfJob is a job as the operator saw it.
type kfJob struct {
	name, namespace string
	port            int
	nproc           string // nprocPerNode after the operator's defaults; "" if not set
	procs           int    // as the user asked; 0 if not set
	elastic         *KubeflowElastic
	sparse          bool
	domain          string
	pods            []kfPod // in the order of the workers
}

// kfPod is one replica, and the worker in its place.
type kfPod struct {
	role  string
	index int
	node  Node
}

func (k Kubeflow) job(c Cluster, kind kfKind) (kfJob, error) {
	job := kfJob{
		name: c.Job, namespace: c.Namespace, port: kind.port, procs: c.Procs,
		sparse: k.Sparse, domain: k.ClusterDomain,
	}
	switch {
	case len(c.Workers) == 0:
		return job, errors.New("no workers")
	case len(c.Command) == 0:
		return job, errors.New("no command")
	case c.Procs < 0:
		return job, fmt.Errorf("%d processes per worker, want at least 1", c.Procs)
	}
	for _, w := range c.Workers {
		role := w.Role
		if role == "" {
			role = kfRoleOf(w.Name, kind.roles)
		}
		if !slices.Contains(kind.roles, role) {
			return job, fmt.Errorf("worker %q has the role %s, which the operator does not have: want one of %s", w.Name, role, strings.Join(kind.roles, ", "))
		}
		job.pods = append(job.pods, kfPod{role: role, index: job.count(role), node: w})
	}
	if err := k.complete(job); err != nil {
		return job, err
	}
	if k.Kind == "PyTorchJob" {
		job.elastic = k.elastic(c, job.count("worker"))
		job.nproc = k.nproc(c)
	}
	return job, nil
}

// complete returns an error for a job that the operator would have refused, or that lacks a value
// which the kubelet gave to the operator's pods.
func (k Kubeflow) complete(job kfJob) error {
	masters, first := job.count("master"), job.first()
	switch {
	case k.Kind == "XGBoostJob" && masters != 1, k.Kind == "PyTorchJob" && masters > 1:
		return fmt.Errorf("%d workers have the role master, want 1", masters)
	case k.Kind == "TFJob" && masters > 0 && job.count("chief") > 0:
		return errors.New("workers have the roles chief and master, want only one of these")
	case k.Kind == "PaddleJob" && first.node.IP == "":
		return fmt.Errorf("worker %q has no address, which PADDLE_MASTER needs", first.node.Name)
	}
	return nil
}

// kfRoleOf takes the role from a name that ends in -ROLE-INDEX.
func kfRoleOf(name string, known []string) string {
	parts := strings.Split(name, "-")
	if len(parts) < 3 {
		return "worker"
	}
	said, number := parts[len(parts)-2], parts[len(parts)-1]
	if _, err := strconv.Atoi(number); err != nil || !slices.Contains(known, said) {
		return "worker"
	}
	return said
}

// host returns the name of a replica's pod and Service.
func (j kfJob) host(role string, index int) string {
	return strings.ReplaceAll(j.name+"-"+role+"-"+strconv.Itoa(index), "/", "-")
}

func (j kfJob) count(role string) int {
	n := 0
	for _, pod := range j.pods {
		if pod.role == role {
			n++
		}
	}
	return n
}

// first returns the pod that the others use to find the job: the first master, else worker.
func (j kfJob) first() kfPod {
	i := slices.IndexFunc(j.pods, func(p kfPod) bool { return p.role == "master" })
	if i < 0 {
		i = slices.IndexFunc(j.pods, func(p kfPod) bool { return p.role == "worker" })
	}
	return j.pods[max(i, 0)]
}

// strangers returns a warning if a host in the variables is not the name of the worker that it
// stands for.
func (j kfJob) strangers() []string {
	for _, p := range j.pods {
		if host := j.host(p.role, p.index); p.node.Name != host && p.node.Host != host {
			return []string{fmt.Sprintf("host names are JOB-ROLE-INDEX, and %s, which is %s here, must resolve on every worker", host, p.node.Name)}
		}
	}
	return nil
}

// alone returns a warning if the user asked for more processes than the operator knew of.
func (j kfJob) alone() []string {
	if j.procs < 2 {
		return nil
	}
	return []string{fmt.Sprintf("pods are counted, not processes, so one process starts on each worker instead of %d", j.procs)}
}
