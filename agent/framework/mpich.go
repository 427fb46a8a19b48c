package framework

import "fmt"

// MPICH prepares MPICH's Hydra.
//
// It does not set what is right by default: binding (Hydra binds only on request), the tree launch
// (there is none) and root.
type MPICH struct{}

// Prepare implements Framework; errors as in [MPI].
//
// HYDRA_LAUNCHER is rsh. With ssh, Hydra puts -x before the host and limits concurrent agents for
// one host (HYDRA_LAUNCHER_SSH_LIMIT). Nothing else differs.
//
// HYDRA_IFACE: Hydra tells its proxies to connect to the launcher's host name, which workers may
// not resolve. With an interface it gives the address. It passes the interface to the ranks as
// well, so workers must have one of that name.
//
// MPIR_CVAR_CH4_CMA_ENABLE: MPICH 5.0.2 reads the memory of neighboring ranks. containerd's seccomp
// profile RuntimeDefault answers this with EPERM, and MPICH aborts in MPI_Init. If it is off, the
// data is copied through shared memory.
func (MPICH) Prepare(c Cluster) (Launch, error) {
	if err := check(c); err != nil {
		return Launch{}, fmt.Errorf("prepare mpich: %w", err)
	}
	env := []Var{
		{Name: "HYDRA_LAUNCHER", Value: "rsh", Or: []string{"HYDRA_BOOTSTRAP"},
			Why: "the bootstrap that calls HOST COMMAND without options"},
		{Name: "HYDRA_LAUNCHER_EXEC", Value: c.Agent, Or: []string{"HYDRA_BOOTSTRAP_EXEC"},
			Why: "mpiexec starts its proxies through the agent"},
		{Name: "HYDRA_HOST_FILE", Value: c.HydraHostfile,
			Why: "mpiexec without a hostfile uses all workers, with their slots"},
	}
	if name := hydraInterface(c); name != "" {
		env = append(env, Var{Name: "HYDRA_IFACE", Value: name,
			Why: "proxies connect to an address, so workers do not have to resolve the launcher's name"})
	}
	if !c.Fake {
		env = append(env, Var{Name: "MPIR_CVAR_CH4_CMA_ENABLE", Value: "0", Or: []string{"MPICH_CH4_CMA_ENABLE", "MPIR_PARAM_CH4_CMA_ENABLE"},
			Why: "the seccomp profile of pods forbids process_vm_readv, and MPICH 5 then aborts instead of copying"})
	}
	return Launch{Env: env}, nil
}

// hydraInterface returns the interface variable of MPICH's and Intel MPI's Hydra.
func hydraInterface(c Cluster) string {
	if c.Fake {
		return "lo"
	}
	return c.Interface
}
