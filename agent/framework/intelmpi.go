package framework

import (
	"fmt"
	"strconv"
)

// IntelMPI prepares Intel MPI's Hydra.
type IntelMPI struct{}

// Prepare implements Framework; errors as in [MPI].
//
// I_MPI_HYDRA_BRANCH_COUNT=0 makes the start flat: 20 hosts need 20 calls from mpiexec. If it is
// unset, or -1 as in public job scripts, the tree is 16 wide and workers start workers.
//
// Intel's Hydra ignores the ":N" of its host file and fills each host by its cores. So the slots go
// into I_MPI_PERHOST, which is one number for all hosts. If workers differ, it is the smallest
// number; only -machinefile on the command line can do better. Prepare warns of this if the
// environment shows an Intel MPI.
func (IntelMPI) Prepare(c Cluster) (Launch, error) {
	if err := check(c); err != nil {
		return Launch{}, fmt.Errorf("prepare intelmpi: %w", err)
	}
	least, most := c.slots()
	env := []Var{
		{Name: "I_MPI_HYDRA_BOOTSTRAP", Value: "rsh",
			Why: "the bootstrap that calls HOST COMMAND without options"},
		{Name: "I_MPI_HYDRA_BOOTSTRAP_EXEC", Value: c.Agent,
			Why: "mpiexec starts its proxies through the agent"},
		{Name: "I_MPI_HYDRA_HOST_FILE", Value: c.HydraHostfile,
			Why: "mpirun without a hostfile uses all workers"},
		{Name: "I_MPI_HYDRA_BRANCH_COUNT", Value: "0",
			Why: "for more than 16 hosts, workers would start proxies on other workers, which they are not allowed to do"},
		{Name: "I_MPI_PERHOST", Value: strconv.Itoa(least),
			Why: "Intel MPI ignores the slots in its host file and counts cores"},
	}
	if name := hydraInterface(c); name != "" {
		env = append(env, Var{Name: "I_MPI_HYDRA_IFACE", Value: name,
			Why: "proxies connect to an address, so workers do not have to resolve the launcher's name"})
	}
	if c.SharedCores || c.Fake {
		env = append(env, Var{Name: "I_MPI_PIN", Value: "0",
			Or:  []string{"I_MPI_PIN_DOMAIN", "I_MPI_PIN_PROCESSOR_LIST", "I_MPI_PIN_CELL"},
			Why: "workers share cores, and otherwise every proxy pins its first rank to core 0"})
	}
	launch := Launch{Env: env}
	if _, intel := lookup(c.UserEnv, "I_MPI_ROOT"); intel && least != most {
		launch.Warnings = append(launch.Warnings, fmt.Sprintf(
			"Intel MPI uses one number of ranks for all hosts, but workers have %d to %d slots: each gets %d; mpirun -machinefile %s uses the slots of each worker",
			least, most, least, c.HydraHostfile))
	}
	return launch, nil
}
