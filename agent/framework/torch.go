package framework

import (
	"fmt"
	"strconv"
)

// Torch prepares PyTorch: the script in Procs processes on each worker, or torchrun once on each
// worker.
type Torch struct{}

// Prepare implements Framework. A worker of role master holds rank 0 and decides; otherwise all
// work. Errors: see [Cluster]; a role that PyTorch does not have.
func (Torch) Prepare(c Cluster) (Launch, error) {
	launch, err := prepareTorch(c)
	if err != nil {
		return Launch{}, fmt.Errorf("prepare torch: %w", err)
	}
	return launch, nil
}

func prepareTorch(c Cluster) (Launch, error) {
	if err := c.usable(); err != nil {
		return Launch{}, err
	}
	if err := c.rolesAre("torch", "master", "worker"); err != nil {
		return Launch{}, err
	}
	nodes := c.nodesByRole("master")
	if err := c.worldDivides(); err != nil {
		return Launch{}, err
	}
	if err := c.lone(); err != nil {
		return Launch{}, err
	}
	cmd, below := recognise(c.Command), ofBelow(c.Below)
	switch {
	case cmd.launcher == byTorchrun, below.launcher == byTorchrun && c.LeastWorkers > 0:
		return torchrun(c, nodes)
	case cmd.launcher == byAccelerate:
		return accelerate(c, cmd, nodes)
	}
	procs := c.procs()
	if below.launcher == byTorchrun || below.launcher == byAccelerate && !c.noGPU() {
		procs = 1 // it starts the others
	}
	ranks, err := c.numbered(nodes, procs)
	if err != nil {
		return Launch{}, err
	}
	var launch Launch
	for _, r := range ranks {
		r.byRole()
		r.Env = append(torchRank(c, nodes[0], r), belowTorch(c, nodes[0], r)...)
		if c.hides() {
			launch.Files = pythonFiles()
			r.Env = append(r.Env, pythonPath("directory of a module that rejects a torchrun for only one of several workers"))
		}
		r.Env = append(r.Env, c.sockets(r.node)...)
		launch.Processes = append(launch.Processes, r.Process)
	}
	masterDecides(launch.Processes)
	return launch, nil
}

// torchRank returns the variables of torchrun that programs read, and NODE_RANK, which Lightning
// reads. With RANK and WORLD_SIZE only, Lightning assumes a single node. Without the local pair,
// Accelerate trains alone.
func torchRank(c Cluster, master Node, r rank) []Var {
	vars := []Var{
		{Name: "RANK", Value: strconv.Itoa(r.Rank), Why: "rank of this process in the job"},
		{Name: "WORLD_SIZE", Value: strconv.Itoa(r.size), Why: "number of processes in the job"},
		{Name: "LOCAL_RANK", Value: strconv.Itoa(r.Local), Why: "rank of this process on its worker, and its GPU"},
		{Name: "LOCAL_WORLD_SIZE", Value: strconv.Itoa(r.local), Why: "number of processes on each worker"},
		{Name: "GROUP_RANK", Value: strconv.Itoa(r.nodeRank), Why: "index of this worker, under the name that torchrun sets"},
		{Name: "GROUP_WORLD_SIZE", Value: strconv.Itoa(r.nodes), Why: "number of workers, under the name that torchrun sets"},
		{Name: "NODE_RANK", Value: strconv.Itoa(r.nodeRank), Why: "index of this worker, under the name that Lightning reads"},
		{Name: "MASTER_ADDR", Value: master.address(), Why: "address of the worker with rank 0, where the ranks connect"},
		{Name: "MASTER_PORT", Value: strconv.Itoa(c.Port + portMeet), Why: "a port that only this attempt uses"},
		{Name: "TORCHELASTIC_RUN_ID", Value: runID(c), Why: "tells Lightning and Transformers that the processes are already started"},
		{Name: "TORCHELASTIC_RESTART_COUNT", Value: strconv.Itoa(c.Attempt), Why: "number of this attempt, from 0"},
	}
	if r.local > 1 {
		vars = append(vars, Var{Name: "OMP_NUM_THREADS", Value: "1", Default: true,
			Why: "otherwise each process of a worker starts a thread for every core; torchrun also sets 1"})
	}
	return append(vars, append(c.onlyCPU(), unbuffered())...)
}

// onlyCPU returns the variable that tells Accelerate to use CPUs. Without it and without a GPU,
// Accelerate ignores RANK, and each process trains alone.
func (c Cluster) onlyCPU() []Var {
	if !c.noGPU() {
		return nil
	}
	return []Var{{Name: "ACCELERATE_USE_CPU", Value: "true", Why: "no worker has a GPU, and without this variable Accelerate trains alone on CPUs"}}
}

// runID differs for each attempt, because two attempts must not share a store.
func runID(c Cluster) string {
	job := c.Job
	if job == "" {
		job = "muster"
	}
	return job + "-" + strconv.Itoa(c.Attempt)
}

// worldDivides returns an error for a WORLD_SIZE of the user's that no number of workers gives: the
// ranks would belong to another group.
func (c Cluster) worldDivides() error {
	world, ok := lookup(c.UserEnv, "WORLD_SIZE")
	if n, err := strconv.Atoi(world); ok && err == nil && n%c.procs() != 0 {
		return fmt.Errorf("WORLD_SIZE=%d is set but is not a multiple of %d processes per worker: unset it", n, c.procs())
	}
	return nil
}
