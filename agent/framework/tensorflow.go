package framework

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// TensorFlow prepares tf.distribute, which reads only TF_CONFIG.
//
// A worker whose role stands alone (chief, master) may have more than one process: one of them has
// that role, the others are workers. ps and evaluator have one process. The evaluator is part of
// the cluster, as tf.distribute requires (multi_worker_util: a task's type must be in the cluster).
type TensorFlow struct {
	// Sparse gives each process only the addresses that it needs: a worker gets all ps and itself,
	// a ps gets itself, chief and evaluator get all. Workers may then come and go.
	Sparse bool
}

// Dynamic returns f with TF_CONFIG in the sparse form, which enableDynamicWorker selects in a
// TFJob. It returns an error if f has no such form.
func Dynamic(f Framework) (Framework, error) {
	switch f := f.(type) {
	case TensorFlow:
		f.Sparse = true
		return f, nil
	case Kubeflow:
		if f.Kind == "TFJob" {
			f.Sparse = true
			return f, nil
		}
	}
	return nil, errors.New("only tensorflow supports the sparse form of TF_CONFIG")
}

// Prepare implements Framework. The chief or master decides, else worker 0. ps and evaluator serve;
// the other workers work. Errors: see [Cluster]; a role that TensorFlow does not have; ps without a
// chief, master or worker; the sparse form without ps, in which each worker would know only itself.
func (t TensorFlow) Prepare(c Cluster) (Launch, error) {
	launch, err := t.prepare(c)
	if err != nil {
		return Launch{}, fmt.Errorf("prepare tensorflow: %w", err)
	}
	return launch, nil
}

func (t TensorFlow) prepare(c Cluster) (Launch, error) {
	if err := c.usable(); err != nil {
		return Launch{}, err
	}
	if err := c.rolesAre("tensorflow", tfRoles()...); err != nil {
		return Launch{}, err
	}
	tasks, err := t.tasks(c)
	if err != nil {
		return Launch{}, err
	}
	if !slices.ContainsFunc(tasks, func(r rank) bool { return r.Part != Serves }) {
		return Launch{}, fmt.Errorf("all workers have the role ps or evaluator, which never end: give one the role chief or worker")
	}
	if t.Sparse && len(tasks) > 1 && !c.hasRole("ps") {
		return Launch{}, errors.New("the sparse TF_CONFIG needs a worker with the role ps: without one, each worker trains alone")
	}
	cluster, err := clusterOf(tasks)
	if err != nil {
		return Launch{}, err
	}
	var launch Launch
	for _, r := range tasks {
		config, err := t.config(cluster, r)
		if err != nil {
			return Launch{}, err
		}
		r.Env = []Var{
			{Name: "TF_CONFIG", Value: config, Why: "tasks of the job, and the task of this process"},
			{Name: "GRPC_FAIL_FAST", Value: "use_caller", Default: true, Why: "makes TensorFlow wait for a peer that is not ready yet"},
			unbuffered(),
		}
		r.Env = append(r.Env, c.sockets(r.node)...)
		launch.Processes = append(launch.Processes, r.Process)
	}
	return launch, nil
}

// tfRoles returns TensorFlow's task types, in rank order.
func tfRoles() []string { return []string{"chief", "master", "worker", "ps", "evaluator"} }

// tasks numbers the processes: each type from 0, and all of them as ranks.
func (TensorFlow) tasks(c Cluster) ([]rank, error) {
	ports := rankPorts{first: c.Port, shared: c.Fake}
	position, count := c.positions(), map[string]int{}
	var tasks []rank
	for nodeRank, node := range c.nodesByRole(tfRoles()...) {
		procs := c.procs()
		if node.Role == "ps" || node.Role == "evaluator" {
			procs = 1
		}
		for local := range procs {
			role := node.Role
			if role == "" || local > 0 {
				role = "worker"
			}
			port, err := ports.next(node)
			if err != nil {
				return nil, err
			}
			tasks = append(tasks, rank{
				Process: Process{Worker: position(node), Rank: len(tasks), Local: local, Role: role, Index: count[role], Argv: c.Command},
				node:    node, nodeRank: nodeRank, local: procs, nodes: len(c.Workers), port: port,
			})
			count[role]++
		}
	}
	lone := count["chief"]+count["master"] == 0
	for i := range tasks {
		tasks[i].size = len(tasks)
		switch {
		case tasks[i].Role == "ps" || tasks[i].Role == "evaluator":
			tasks[i].Part = Serves
		case tasks[i].Role == "chief" || tasks[i].Role == "master" || lone && tasks[i].Index == 0:
			tasks[i].Part = Decides
		}
	}
	return tasks, nil
}

// task identifies a process.
type task struct {
	Type  string `json:"type"`
	Index int    `json:"index"`
}

// clusterSpec is the job as TF_CONFIG has it: the addresses of all tasks by role, as JSON, and those of
// the servers.
type clusterSpec struct {
	full    json.RawMessage
	servers []string
}

// clusterOf encodes the addresses once for all tasks.
func clusterOf(tasks []rank) (clusterSpec, error) {
	lists, servers := map[string][]string{}, []string{}
	for _, r := range tasks {
		lists[r.Role] = append(lists[r.Role], r.node.endpoint(r.port))
	}
	full, err := json.Marshal(lists)
	if err != nil {
		return clusterSpec{}, fmt.Errorf("encode TF_CONFIG: %w", err)
	}
	return clusterSpec{full, append(servers, lists["ps"]...)}, nil
}

// config returns TF_CONFIG for one task. In the sparse form the workers are a map from number to
// address that holds only its own entry.
func (t TensorFlow) config(c clusterSpec, own rank) (string, error) {
	var cluster any = c.full
	if t.Sparse {
		self := own.node.endpoint(own.port)
		switch own.Role {
		case "worker":
			cluster = map[string]any{"worker": map[int]string{own.Index: self}, "ps": c.servers}
		case "ps":
			cluster = map[string]any{"ps": map[int]string{own.Index: self}}
		}
	}
	text, err := json.Marshal(struct {
		Cluster any  `json:"cluster"`
		Task    task `json:"task"`
	}{cluster, task{own.Role, own.Index}})
	if err != nil {
		return "", fmt.Errorf("encode TF_CONFIG: %w", err)
	}
	return string(text), nil
}
