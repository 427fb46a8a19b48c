package framework

import (
	"fmt"
	"strconv"
)

// OpenMPI prepares Open MPI 4 (ORTE) and 5 (PRRTE). Their launchers read the same settings under
// different names, and neither reads the names of the other.
type OpenMPI struct{}

// minConcurrent is Open MPI's default limit of concurrent remote agents (plm_rsh_num_concurrent,
// plm_ssh_num_concurrent). Our agents run as long as the job. If the limit is below the number of
// workers, mpirun then deadlocks or crashes.
const minConcurrent = 128

// countsEveryRank makes a daemon fork its ranks in the thread that collects their exit codes. From
// 32 ranks on, a daemon of Open MPI 4 forks in other threads; one of Open MPI 5 up to 5.0.11 always
// does. If a rank ends before such a thread has recorded its pid, the daemon collects it as an
// unknown process, and mpirun waits for it forever. Starting 192 ranks on one worker takes half a
// second longer this way.
func countsEveryRank() []Var {
	return both("odls_base_max_threads", "odls_base_max_threads", "0",
		"otherwise mpirun may wait forever for a rank that ends before its daemon has recorded the pid")
}

// Prepare implements Framework; errors as in [MPI].
func (OpenMPI) Prepare(c Cluster) (Launch, error) {
	if err := check(c); err != nil {
		return Launch{}, fmt.Errorf("prepare openmpi: %w", err)
	}
	concurrent := strconv.Itoa(max(minConcurrent, len(c.Workers)))
	env := both("plm_rsh_agent", "plm_ssh_agent", c.Agent,
		"mpirun starts its daemons through the agent")
	env = append(env, both("orte_default_hostfile", "prte_default_hostfile", c.Hostfile,
		"mpirun without a hostfile uses all workers, with their slots")...)
	env = append(env, both("plm_rsh_no_tree_spawn", "plm_ssh_no_tree_spawn", "1",
		"for more than 64 hosts, workers would start daemons on other workers, which they are not allowed to do")...)
	env = append(env, both("plm_rsh_num_concurrent", "plm_ssh_num_concurrent", concurrent,
		"with fewer agents at a time than workers, mpirun deadlocks")...)
	env = append(env, countsEveryRank()...)
	env = append(env, both("orte_keep_fqdn_hostnames", "prte_keep_fqdn_hostnames", "0",
		"host names of the hostfile and of the daemons must be equal")...)
	if c.SharedCores || c.Fake {
		env = append(env, unbound()...)
	}
	if c.Root {
		env = append(env,
			Var{Name: "OMPI_ALLOW_RUN_AS_ROOT", Value: "1", Why: "otherwise mpirun refuses to run as root"},
			Var{Name: "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", Value: "1", Why: "otherwise mpirun refuses to run as root"})
	}
	switch name := c.oneInterface(); {
	case c.Fake:
		env = append(env, fakeOpenMPI()...)
		if c.oversubscribed() {
			env = append(env, Var{Name: "OMPI_MCA_mpi_yield_when_idle", Value: "1",
				Why: "fake workers have more ranks than processors, so a waiting rank must yield to the others"})
		}
	case name != "":
		env = append(env, Var{Name: "OMPI_MCA_btl_tcp_if_include", Value: name,
			Why: "network interface with the workers' addresses",
			Or:  []string{"OMPI_MCA_btl_tcp_if_exclude"}})
	}
	return Launch{Env: env}, nil
}

// both returns one setting under the names of both launchers.
func both(orte, prte, value, why string) []Var {
	return []Var{
		{Name: "OMPI_MCA_" + orte, Value: value, Why: why + " (Open MPI 4)"},
		{Name: "PRTE_MCA_" + prte, Value: value, Why: why + " (Open MPI 5)"},
	}
}

// unbound turns core binding off. Every daemon assumes that it owns the machine and binds its first
// rank to core 0 (measured with Open MPI 5: 62 s instead of 1.6 s). Open MPI 4 does so in jobs of
// one or two ranks, and binds to sockets otherwise.
//
// Open MPI 6 warns that the name for 5 is deprecated. Its new name cannot be set beside the old one: 5.0.11 then
// warns, and older releases of 5 know only the old one.
func unbound() []Var {
	const why = "workers share cores, and otherwise every daemon binds its first rank to core 0"
	return []Var{
		{Name: "OMPI_MCA_hwloc_base_binding_policy", Value: "none", Why: why + " (Open MPI 4)"},
		{Name: "PRTE_MCA_hwloc_default_binding_policy", Value: "none", Why: why + " (Open MPI 5 and 6)"},
		{Name: "PMIX_MCA_mca_base_suppress_deprecated_warning", Value: "1",
			Why: "otherwise Open MPI 6 warns in each run about the name of the binding policy"},
	}
}

// oversubscribed reports whether the fake workers have more ranks than this machine has processors.
// Open MPI 4 and 5 compare the ranks of each host with its slots, and make waiting ranks yield if
// there are more. Fake hosts share one machine, so none of them looks oversubscribed. Four ranks of
// LAMMPS on two processors took 6.1 s, and 0.2 s with yielding.
func (c Cluster) oversubscribed() bool {
	ranks := c.Launcher.Slots
	for _, w := range c.Workers {
		ranks += w.Slots
	}
	return c.Processors > 0 && ranks > c.Processors
}

// fakeOpenMPI returns the variables for several hosts on 127.0.0.0/8.
//
//   - The TCP BTL excludes loopback by default, so ranks on a machine without
//     another network cannot connect. It refuses include and exclude lists together.
//   - Open MPI 4's control channel uses loopback too. So no port is open to the
//     network, and a change of other interfaces does no harm. PRRTE 3 has no
//     working setting for this: its daemons refuse to start on loopback alone, so
//     Open MPI 5 needs one other interface.
//   - han, Open MPI 5's collectives for several nodes, finds neighboring ranks by
//     host name, which is the same on all fake hosts. With 5.0.11 MPI_Barrier hung
//     14 times of 14, and without han 0 times of 17.
func fakeOpenMPI() []Var {
	return []Var{
		{Name: "OMPI_MCA_btl_tcp_if_include", Value: loopback,
			Why: "fake hosts are on loopback, which the TCP transport excludes by default",
			Or:  []string{"OMPI_MCA_btl_tcp_if_exclude"}},
		{Name: "OMPI_MCA_oob_tcp_if_include", Value: loopback,
			Why: "the control channel of fake hosts stays on loopback (Open MPI 4)",
			Or:  []string{"OMPI_MCA_oob_tcp_if_exclude"}},
		{Name: "OMPI_MCA_coll", Value: "^han",
			Why: "fake hosts share one host name, by which han finds neighbors, so MPI_Barrier would hang (Open MPI 5)"},
	}
}
