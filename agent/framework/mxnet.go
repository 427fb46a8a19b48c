package framework

import (
	"fmt"
	"slices"
	"strconv"
)

// MXNet prepares ps-lite, which MXNet and BytePS use: a scheduler, servers and workers. All run the
// same command: the scheduler and the servers do their part, and end, inside `import mxnet`. The
// scheduler assigns the ranks; the numbers here are positions in the list.
//
// Without roles every worker computes and also holds a server, as with MXNet's own launcher. The
// scheduler runs beside the first.
type MXNet struct{}

// Prepare implements Framework. Workers work, the scheduler and the servers serve. Errors: see
// [Cluster]; a role that MXNet does not have; a role that is missing.
func (MXNet) Prepare(c Cluster) (Launch, error) {
	launch, err := prepareMXNet(c)
	if err != nil {
		return Launch{}, fmt.Errorf("prepare mxnet: %w", err)
	}
	return launch, nil
}

func prepareMXNet(c Cluster) (Launch, error) {
	if err := c.usable(); err != nil {
		return Launch{}, err
	}
	if err := c.rolesAre("mxnet", "scheduler", "server", "worker"); err != nil {
		return Launch{}, err
	}
	scheduler, servers, working := c.Workers[:1], c.Workers, c.Workers
	if c.Workers[0].Role != "" {
		scheduler, servers, working = c.ofRole("scheduler"), c.ofRole("server"), c.ofRole("worker")
		for i, nodes := range [][]Node{scheduler, servers, working} {
			if len(nodes) == 0 {
				return Launch{}, fmt.Errorf("no worker has the role %s: a scheduler, servers and workers are needed, or no roles at all",
					[]string{"scheduler", "server", "worker"}[i])
			}
		}
	}
	ranks, err := c.ranks(working)
	if err != nil {
		return Launch{}, err
	}
	var launch Launch
	add := func(p Process, node Node, more ...Var) {
		p.Argv = c.Command
		p.Env = slices.Concat(psLite(c, p.Role, scheduler[0], len(servers), len(ranks)), more, []Var{
			{Name: "DMLC_NODE_HOST", Value: node.address(), Why: "address of this process, for the other processes"}, unbuffered()})
		launch.Processes = append(launch.Processes, p)
	}
	for _, r := range ranks {
		r.Index = r.Rank
		add(r.Process, r.node, Var{Name: "DMLC_WORKER_ID", Value: strconv.Itoa(r.Rank), Why: "index of this worker, for BytePS"})
	}
	for i, n := range servers {
		add(Process{Worker: c.position(n), Rank: -1, Role: "server", Index: i, Part: Serves}, n)
	}
	add(Process{Worker: c.position(scheduler[0]), Rank: -1, Role: "scheduler", Part: Serves}, scheduler[0])
	return launch, nil
}

func psLite(c Cluster, role string, root Node, servers, workers int) []Var {
	return []Var{
		{Name: "DMLC_ROLE", Value: role, Why: "role of this process"},
		{Name: "DMLC_PS_ROOT_URI", Value: root.address(), Why: "address of the scheduler"},
		{Name: "DMLC_PS_ROOT_PORT", Value: strconv.Itoa(c.Port + portMeet), Why: "a port that only this attempt uses"},
		{Name: "DMLC_NUM_SERVER", Value: strconv.Itoa(servers), Why: "number of servers"},
		{Name: "DMLC_NUM_WORKER", Value: strconv.Itoa(workers), Why: "number of workers"},
	}
}

// ofRole lists the workers of a role, in rank order.
func (c Cluster) ofRole(role string) []Node {
	var nodes []Node
	for _, n := range c.Workers {
		if n.Role == role {
			nodes = append(nodes, n)
		}
	}
	return nodes
}
