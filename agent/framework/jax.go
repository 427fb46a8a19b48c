package framework

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

// JAX prepares jax.distributed.
//
// jax reads the coordinator's address from the environment, but neither the number of processes nor
// its own index. `jax.distributed.initialize()` without arguments works only in a cluster that jax
// recognizes. Imitating Slurm or Open MPI would mislead every other library. So a module that
// Python loads at startup (sitecustomize.py) teaches jax to recognize Muster.
type JAX struct{}

//go:embed sitecustomize.py
var pythonModule []byte

// pythonFiles returns the module that Python loads at startup; see [pythonPath].
func pythonFiles() []File { return []File{{Name: "sitecustomize.py", Data: pythonModule}} }

func pythonPath(why string) Var {
	return Var{Name: "PYTHONPATH", Value: FilesDir, Extend: ":", Why: why}
}

// Prepare implements Framework; all processes work. Errors: see [Cluster]; a role other than
// worker.
func (JAX) Prepare(c Cluster) (Launch, error) {
	launch, err := prepareJAX(c)
	if err != nil {
		return Launch{}, fmt.Errorf("prepare jax: %w", err)
	}
	return launch, nil
}

func prepareJAX(c Cluster) (Launch, error) {
	if err := c.usable(); err != nil {
		return Launch{}, err
	}
	if err := c.rolesAre("jax", "worker"); err != nil {
		return Launch{}, err
	}
	ranks, err := c.ranks(c.Workers)
	if err != nil {
		return Launch{}, err
	}
	launch := Launch{
		Files: pythonFiles(),
	}
	for _, r := range ranks {
		r.byRole()
		r.Env = append(jaxRank(c, r), c.sockets(r.node)...)
		launch.Processes = append(launch.Processes, r.Process)
	}
	return launch, nil
}

func jaxRank(c Cluster, r rank) []Var {
	vars := []Var{
		{Name: "JAX_COORDINATOR_ADDRESS", Value: c.Workers[0].endpoint(c.Port + portMeet), Why: "process 0 holds the coordinator"},
		{Name: "JAX_NUM_PROCESSES", Value: strconv.Itoa(r.size), Why: "processes of the job"},
		{Name: "JAX_PROCESS_ID", Value: strconv.Itoa(r.Rank), Why: "this process among those of the job"},
		pythonPath("a module that lets jax.distributed.initialize() take the three above"),
	}
	if r.local > 1 {
		vars = append(vars, Var{Name: "JAX_LOCAL_PROCESS_ID", Value: strconv.Itoa(r.Local),
			Why: "this process among those of its worker, which picks its GPU"})
		if each := r.node.GPUs / r.local; each > 1 {
			vars = append(vars, Var{Name: "JAX_LOCAL_DEVICE_IDS", Value: share(each, r.Local),
				Why: "its part of the worker's GPUs; jax takes one otherwise"})
		}
	}
	return append(vars, unbuffered())
}

// share lists the devices of the local-th process of a worker; each process has each devices.
func share(each, local int) string {
	ids := make([]string, each)
	for i := range ids {
		ids[i] = strconv.Itoa(local*each + i)
	}
	return strings.Join(ids, ",")
}
