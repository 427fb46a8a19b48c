package framework

import (
	"fmt"
	"strconv"
	"strings"
)

// Plain starts the command on every worker, Procs times. It sets the variables that most programs
// know: those of torch.distributed's env:// and of torchrun, and the workers' addresses. It sets
// nothing that only one framework reads, except for what a torchrun behind a script needs.
type Plain struct{}

// Prepare implements Framework. Every process works, and may have any role. Errors: see [Cluster].
func (Plain) Prepare(c Cluster) (Launch, error) {
	if err := c.usable(); err != nil {
		return Launch{}, fmt.Errorf("prepare plain: %w", err)
	}
	ranks, err := c.ranks(c.Workers)
	if err != nil {
		return Launch{}, fmt.Errorf("prepare plain: %w", err)
	}
	addresses := make([]string, 0, len(c.Workers))
	for _, w := range c.Workers {
		addresses = append(addresses, w.address())
	}
	all := strings.Join(addresses, ",") // joined once: with a thousand workers it has 13 KB
	var launch Launch
	if len(all) > mostAddresses {
		launch.Warnings = []string{fmt.Sprintf("MUSTER_ADDRESSES is not set: the addresses of %d workers have %d bytes, and at most %d are passed to a process", len(addresses), len(all), mostAddresses)}
		all = ""
	}
	for _, r := range ranks {
		r.Env = []Var{
			{Name: "RANK", Value: strconv.Itoa(r.Rank), Why: "rank of this process in the job"},
			{Name: "WORLD_SIZE", Value: strconv.Itoa(r.size), Why: "number of processes in the job"},
			{Name: "LOCAL_RANK", Value: strconv.Itoa(r.Local), Why: "rank of this process on its worker"},
			{Name: "LOCAL_WORLD_SIZE", Value: strconv.Itoa(r.local), Why: "number of processes on each worker"},
			{Name: "NODE_RANK", Value: strconv.Itoa(r.nodeRank), Why: "index of this worker"},
			{Name: "NNODES", Value: strconv.Itoa(r.nodes), Why: "number of workers"},
			{Name: "MASTER_ADDR", Value: c.Workers[0].address(), Why: "address of the worker with rank 0, for scripts that connect their ranks there"},
			{Name: "MASTER_PORT", Value: strconv.Itoa(c.Port + portMeet), Why: "a port there that only this attempt uses"},
		}
		if all != "" {
			r.Env = append(r.Env, Var{Name: "MUSTER_ADDRESSES", Value: all, Why: "addresses of the workers, in rank order"})
		}
		r.Env = append(append(r.Env, belowTorch(c, c.Workers[0], r)...), unbuffered())
		if r.node.Role != "" {
			r.Role = r.node.Role
			r.Index = r.node.RoleIndex*r.local + r.Local
			r.Env = append(r.Env,
				Var{Name: "MUSTER_ROLE", Value: r.Role, Why: "the worker's role"},
				Var{Name: "MUSTER_ROLE_INDEX", Value: strconv.Itoa(r.Index), Why: "index of this process within its role"})
		}
		launch.Processes = append(launch.Processes, r.Process)
	}
	return launch, nil
}

// unbuffered makes Python write each line at once. Output goes through a pipe, and a killed process
// loses the lines in its buffer.
func unbuffered() Var {
	return Var{Name: "PYTHONUNBUFFERED", Value: "1", Default: true,
		Why: "Python prints into a pipe: without buffering, lines appear at once"}
}
