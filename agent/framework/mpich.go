package framework

import "fmt"

// MPICH prepares MPICH's Hydra.
//
// Not set, because it is right as it is: binding (Hydra binds nothing unless
// asked), tree launch (there is none), root.
type MPICH struct{}

// Prepare implements Framework; errors as in [MPI].
//
// HYDRA_LAUNCHER is rsh: with ssh Hydra puts -x before the host and holds back
// agents for one host (HYDRA_LAUNCHER_SSH_LIMIT); the rest is the same.
//
// HYDRA_IFACE: Hydra tells its proxies to call back the launcher's host name,
// which workers need not resolve; with an interface it gives the address. It
// hands the interface to the ranks as well, so the name must exist on workers.
//
// MPIR_CVAR_CH4_CMA_ENABLE: MPICH 5.0.2 reads from the memory of the ranks beside
// it, which the seccomp profile RuntimeDefault of containerd answers with EPERM,
// and aborts in MPI_Init. Without, the data is copied through shared memory.
func (MPICH) Prepare(c Cluster) (Launch, error) {
	if err := check(c); err != nil {
		return Launch{}, fmt.Errorf("prepare mpich: %w", err)
	}
	env := []Var{
		{Name: "HYDRA_LAUNCHER", Value: "rsh", Or: []string{"HYDRA_BOOTSTRAP"},
			Why: "the launcher kind that calls HOST COMMAND with no option of its own"},
		{Name: "HYDRA_LAUNCHER_EXEC", Value: c.Agent, Or: []string{"HYDRA_BOOTSTRAP_EXEC"},
			Why: "mpiexec starts its proxies through the agent"},
		{Name: "HYDRA_HOST_FILE", Value: c.HydraHostfile,
			Why: "plain mpiexec takes every worker, with its slots"},
	}
	if name := hydraInterface(c); name != "" {
		env = append(env, Var{Name: "HYDRA_IFACE", Value: name,
			Why: "proxies call an address back: workers need not resolve the launcher's name"})
	}
	if !c.Fake {
		env = append(env, Var{Name: "MPIR_CVAR_CH4_CMA_ENABLE", Value: "0", Or: []string{"MPICH_CH4_CMA_ENABLE", "MPIR_PARAM_CH4_CMA_ENABLE"},
			Why: "pods' seccomp profile forbids process_vm_readv, at which MPICH 5 aborts instead of copying"})
	}
	return Launch{Env: env}, nil
}

// hydraInterface names the interface for Hydra, of MPICH and of Intel MPI.
func hydraInterface(c Cluster) string {
	if c.Fake {
		return "lo"
	}
	return c.Interface
}
