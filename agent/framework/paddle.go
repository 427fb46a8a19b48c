package framework

import (
	"fmt"
	"strconv"
)

// Paddle prepares PaddlePaddle in one of three forms: the script in Procs processes on each worker,
// or its launcher (`python -m paddle.distributed.launch`) once on each worker. If a worker has the
// role ps or server, it prepares the parameter servers of fleet.
//
// The launcher and the script give different meanings to the same names (PADDLE_MASTER,
// PADDLE_RANK), so each gets only its own set. MASTER_ADDR and MASTER_PORT override both in some
// releases, so they are not set.
type Paddle struct{}

// Prepare implements Framework. All processes work; parameter servers serve. Errors: see [Cluster];
// a role that Paddle does not have; servers without trainers.
func (Paddle) Prepare(c Cluster) (Launch, error) {
	launch, err := preparePaddle(c)
	if err != nil {
		return Launch{}, fmt.Errorf("prepare paddle: %w", err)
	}
	return launch, nil
}

func preparePaddle(c Cluster) (Launch, error) {
	if err := c.usable(); err != nil {
		return Launch{}, err
	}
	if err := c.rolesAre("paddle", "worker", "trainer", "ps", "server"); err != nil {
		return Launch{}, err
	}
	launcher := recognise(c.Command).launcher == byPaddle || ofBelow(c.Below).launcher == byPaddle
	if c.hasRole("ps") || c.hasRole("server") {
		if launcher {
			return Launch{}, fmt.Errorf("workers have the role ps or server, and parameter servers run the script without paddle.distributed.launch: python train.py")
		}
		return paddleServers(c)
	}
	procs := c.procs()
	if launcher {
		procs = 1
	}
	ranks, err := c.numbered(c.Workers, procs)
	if err != nil {
		return Launch{}, err
	}
	var launch Launch
	for _, r := range ranks {
		r.byRole()
		if launcher {
			r.Env = paddleLauncher(c, r)
		} else {
			r.Env = paddleTrainer(c, ranks, r)
		}
		r.Env = append(append(r.Env, unbuffered()), c.sockets(r.node)...)
		launch.Processes = append(launch.Processes, r.Process)
	}
	return launch, nil
}

// paddleTrainer returns the variables that Paddle's launcher sets for its processes.
func paddleTrainer(c Cluster, ranks []rank, r rank) []Var {
	vars := []Var{
		{Name: "PADDLE_TRAINER_ID", Value: strconv.Itoa(r.Rank), Why: "rank of this process in the job"},
		{Name: "PADDLE_TRAINERS_NUM", Value: strconv.Itoa(r.size), Why: "number of processes in the job"},
		{Name: "PADDLE_CURRENT_ENDPOINT", Value: r.node.endpoint(r.port), Why: "address of this process"},
		{Name: "PADDLE_TRAINER_ENDPOINTS", Value: endpoints(ranks), Why: "addresses of all processes, in rank order"},
		{Name: "PADDLE_MASTER", Value: ranks[0].node.endpoint(c.Port + portMeet), Why: "address where the processes connect"},
		{Name: "PADDLE_GLOBAL_RANK", Value: strconv.Itoa(r.Rank), Why: "rank of this process in the job"},
		{Name: "PADDLE_GLOBAL_SIZE", Value: strconv.Itoa(r.size), Why: "number of processes in the job"},
		{Name: "PADDLE_LOCAL_RANK", Value: strconv.Itoa(r.Local), Why: "rank of this process on its worker"},
		{Name: "PADDLE_RANK_IN_NODE", Value: strconv.Itoa(r.Local), Why: "rank of this process on its worker"},
		{Name: "PADDLE_LOCAL_SIZE", Value: strconv.Itoa(r.local), Why: "number of processes on each worker"},
		{Name: "PADDLE_NNODES", Value: strconv.Itoa(r.nodes), Why: "number of workers"},
	}
	if c.noGPU() {
		vars = append(vars, Var{Name: "PADDLE_DISTRI_BACKEND", Value: "gloo",
			Why: "no worker has a GPU; unless a backend is named, Paddle creates no group on CPUs"})
	}
	if r.node.GPUs > 0 && r.local > 1 {
		vars = append(vars, Var{Name: "FLAGS_selected_gpus", Value: strconv.Itoa(r.Local), Why: "the GPU of this process"})
	}
	return vars
}

func paddleLauncher(c Cluster, r rank) []Var {
	return []Var{
		{Name: "PADDLE_MASTER", Value: c.Workers[0].endpoint(c.Port + portMeet), Why: "address of the launcher on worker 0, where the launchers connect"},
		{Name: "PADDLE_NNODES", Value: strconv.Itoa(r.nodes), Why: "number of workers"},
		{Name: "PADDLE_RANK", Value: strconv.Itoa(r.nodeRank), Why: "index of this worker; otherwise its order of arrival"},
		{Name: "PADDLE_NPROC_PER_NODE", Value: strconv.Itoa(c.procsOn(r.node)), Why: "number of processes that the launcher starts on this worker"},
		{Name: "PADDLE_JOB_ID", Value: runID(c), Why: "ID of this attempt of the run"},
		{Name: "POD_IP", Value: r.node.address(), Why: "peers connect to an address, so the worker's host name does not have to resolve"},
	}
}
