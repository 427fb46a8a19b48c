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
		{Name: "JAX_COORDINATOR_ADDRESS", Value: c.Workers[0].endpoint(c.Port + portMeet), Why: "address of process 0, which runs the coordinator"},
		{Name: "JAX_NUM_PROCESSES", Value: strconv.Itoa(r.size), Why: "number of processes in the job"},
		{Name: "JAX_PROCESS_ID", Value: strconv.Itoa(r.Rank), Why: "rank of this process in the job"},
		pythonPath("directory of a module that gives jax.distributed.initialize() the three variables above"),
	}
	if r.local > 1 {
		vars = append(vars, Var{Name: "JAX_LOCAL_PROCESS_ID", Value: strconv.Itoa(r.Local),
			Why: "rank of this process on its worker, which selects its GPU"})
		if each := r.node.GPUs / r.local; each > 1 {
			vars = append(vars, Var{Name: "JAX_LOCAL_DEVICE_IDS", Value: share(each, r.Local),
				Why: "its share of the worker's GPUs; otherwise jax uses one"})
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
