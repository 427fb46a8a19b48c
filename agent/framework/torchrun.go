package framework

import (
	"cmp"
	"slices"
	"strconv"
)

// torchrun prepares a launcher that starts the ranks of its worker itself. `torchrun script.py`
// needs no option, because it reads each option from PET_<OPTION> (torch/distributed/run.py). It
// sets RANK and WORLD_SIZE itself.
//
// Ranks follow PET_NODE_RANK, except in an elastic run, where they follow the order of arrival.
//
// torchrun's own restarts (--max-restarts) need a separate store for each attempt. With c10d and
// one store for two attempts, 1 of 6 runs recovered from a lost worker; with two stores, 4 of 4 did
// (torch 2.15). The static rendezvous ignores that variable, but a command that names c10d itself
// reads it.
func torchrun(c Cluster, nodes []Node) (Launch, error) {
	if c.LeastWorkers > 0 {
		nodes = c.storeFirst(nodes)
	}
	ranks, err := c.numbered(nodes, 1)
	if err != nil {
		return Launch{}, err
	}
	launch := Launch{Any: c.LeastWorkers > 0, Elastic: c.LeastWorkers > 0}
	for _, r := range ranks {
		r.byRole()
		r.Env = []Var{
			{Name: "PET_NPROC_PER_NODE", Value: strconv.Itoa(c.procsOn(r.node)), Why: "number of processes that torchrun starts on this worker"},
			{Name: "NODE_RANK", Value: strconv.Itoa(r.nodeRank), Why: "index of this worker"},
			{Name: "GROUP_RANK", Value: strconv.Itoa(r.nodeRank), Why: "index of this worker, under the name that torchrun sets"},
			{Name: "GROUP_WORLD_SIZE", Value: strconv.Itoa(r.nodes), Why: "number of workers, under the name that torchrun sets"},
		}
		if launch.Any {
			r.Env = append(r.Env, elastic(c, nodes[0], r)...)
		} else {
			r.Env = append(r.Env, static(c, nodes[0], r)...)
		}
		r.Env = append(r.Env,
			Var{Name: "TORCH_DISABLE_SHARE_RDZV_TCP_STORE", Value: "1", Default: true, Why: "otherwise ranks of a new attempt read the addresses of the previous attempt"},
			Var{Name: "PET_REDIRECTS", Value: "0", Default: true, Why: "torch 1.13 under Python 3.11 cannot read its own default"},
			Var{Name: "PET_TEE", Value: "0", Default: true, Why: "torch 1.13 under Python 3.11 cannot read its own default"},
			unbuffered())
		r.Env = append(append(r.Env, c.onlyCPU()...), c.sockets(r.node)...)
		launch.Processes = append(launch.Processes, r.Process)
	}
	if !launch.Any {
		masterDecides(launch.Processes)
	}
	return launch, nil
}

// procsOn returns the number of processes on a worker whose launcher starts them: the requested
// number, else one for each GPU.
func (c Cluster) procsOn(n Node) int {
	if c.Procs == 0 {
		return max(1, n.GPUs)
	}
	return c.Procs
}

// storeFirst moves the node with the store to the front.
func (c Cluster) storeFirst(nodes []Node) []Node {
	position := c.positions()
	is := func(n Node) bool { return position(n) == c.Store }
	i := slices.IndexFunc(nodes, is)
	if i < 0 {
		return nodes
	}
	return slices.Concat(nodes[i:i+1], nodes[:i], nodes[i+1:])
}

func static(c Cluster, master Node, r rank) []Var {
	return []Var{
		{Name: "PET_NNODES", Value: strconv.Itoa(r.nodes), Why: "number of workers"},
		{Name: "PET_NODE_RANK", Value: strconv.Itoa(r.nodeRank), Why: "index of this worker"},
		{Name: "PET_MASTER_ADDR", Value: master.address(), Why: "address of the worker with rank 0, where the ranks connect"},
		{Name: "PET_MASTER_PORT", Value: strconv.Itoa(c.Port + portMeet), Why: "a port that only this attempt uses"},
	}
}

// lastCall is how many seconds torchrun waits for more workers after min_nodes are there. min_nodes
// is the worker count at the attempt's start and not --min-workers: otherwise torchrun starts
// without slow workers and restarts when they join. It is the same for a worker that joins later:
// torchrun starts the last call only on the node that completes its own min_nodes. If these differ,
// it may be no node, and all wait until torchrun's timeout. Only a new attempt can shrink it.
const lastCall = "2"

// elastic returns the variables of the c10d rendezvous. It sets is_host, because torchrun otherwise
// finds the host of the store by comparing names, and every node fails if none matches.
func elastic(c Cluster, host Node, r rank) []Var {
	conf := "is_host=0,last_call_timeout=" + lastCall
	if r.nodeRank == 0 {
		conf = "is_host=1,last_call_timeout=" + lastCall
	}
	least := cmp.Or(c.FirstWorkers, r.nodes)
	return []Var{
		{Name: "PET_NNODES", Value: strconv.Itoa(least) + ":" + strconv.Itoa(max(c.MostWorkers, r.nodes)), Why: "number of workers at the start of the attempt, and the maximum"},
		{Name: "PET_RDZV_BACKEND", Value: "c10d", Why: "the rendezvous backend that needs no separate server"},
		{Name: "PET_RDZV_ENDPOINT", Value: host.endpoint(c.Port + portStore), Why: "the first worker hosts the rendezvous store"},
		{Name: "PET_RDZV_ID", Value: runID(c), Why: "ID of this attempt of the run"},
		{Name: "PET_RDZV_CONF", Value: conf, Why: "the first worker hosts the rendezvous store; otherwise torchrun compares host names, and waits 30 s for workers that may never join"},
		{Name: "PET_LOCAL_ADDR", Value: r.node.address(), Why: "peers connect to an address, so the worker's host name does not have to resolve"},
		{Name: "PET_MAX_RESTARTS", Value: "3", Default: true, Why: "a lost worker ends all ranks, which torchrun counts as a restart"},
	}
}
