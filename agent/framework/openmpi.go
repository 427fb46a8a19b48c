package framework

import (
	"fmt"
	"strconv"
)

// OpenMPI prepares Open MPI 4 (ORTE) and 5 (PRRTE), whose launchers read the
// same settings under different names. Neither reads the other's.
type OpenMPI struct{}

// minConcurrent is Open MPI's own default of remote agents alive at once. Below
// the number of workers mpirun deadlocks or crashes where agents stay for the
// whole job (plm_rsh_num_concurrent, plm_ssh_num_concurrent).
const minConcurrent = 128

// countsEveryRank has a daemon fork its ranks in the thread that collects them.
// From 32 ranks on a daemon of Open MPI 4 forks in other threads, and one of Open
// MPI 5 up to 5.0.11 always does. A rank that ends before such a thread has noted
// its pid is collected as an unknown process, and mpirun waits for it forever.
// Launching 192 ranks on one worker takes half a second longer.
func countsEveryRank() []Var {
	return both("odls_base_max_threads", "odls_base_max_threads", "0",
		"mpirun waits forever for a rank that ends before a thread of its daemon has noted the pid")
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
		"plain mpirun takes every worker, with its slots")...)
	env = append(env, both("plm_rsh_no_tree_spawn", "plm_ssh_no_tree_spawn", "1",
		"beyond 64 hosts workers would start daemons on workers, which hold no right to")...)
	env = append(env, both("plm_rsh_num_concurrent", "plm_ssh_num_concurrent", concurrent,
		"fewer agents at once than workers is a deadlock")...)
	env = append(env, countsEveryRank()...)
	env = append(env, both("orte_keep_fqdn_hostnames", "prte_keep_fqdn_hostnames", "0",
		"hostfile names and the daemons' own host names must compare equal")...)
	if c.SharedCores || c.Fake {
		env = append(env, unbound()...)
	}
	if c.Root {
		env = append(env,
			Var{Name: "OMPI_ALLOW_RUN_AS_ROOT", Value: "1", Why: "mpirun refuses root otherwise"},
			Var{Name: "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", Value: "1", Why: "mpirun refuses root otherwise"})
	}
	switch name := c.oneInterface(); {
	case c.Fake:
		env = append(env, fakeOpenMPI()...)
		if c.oversubscribed() {
			env = append(env, Var{Name: "OMPI_MCA_mpi_yield_when_idle", Value: "1",
				Why: "fake workers share fewer processors than they have ranks: a rank that waits must let the others compute"})
		}
	case name != "":
		env = append(env, Var{Name: "OMPI_MCA_btl_tcp_if_include", Value: name,
			Why: "the interface that holds the workers' addresses",
			Or:  []string{"OMPI_MCA_btl_tcp_if_exclude"}})
	}
	return Launch{Env: env}, nil
}

// both names one setting for both launchers.
func both(orte, prte, value, why string) []Var {
	return []Var{
		{Name: "OMPI_MCA_" + orte, Value: value, Why: why + " (Open MPI 4)"},
		{Name: "PRTE_MCA_" + prte, Value: value, Why: why + " (Open MPI 5)"},
	}
}

// unbound turns core binding off: every daemon believes that it owns the machine
// and binds its first rank to core 0 (measured with Open MPI 5: 62 s and 1.6 s).
// Open MPI 4 does so in jobs of one or two ranks and binds to sockets otherwise.
func unbound() []Var {
	const why = "workers share cores, and every daemon would bind its first rank to core 0"
	return []Var{
		{Name: "OMPI_MCA_hwloc_base_binding_policy", Value: "none", Why: why + " (Open MPI 4)"},
		{Name: "PRTE_MCA_hwloc_default_binding_policy", Value: "none", Why: why + " (Open MPI 5)"},
	}
}

// oversubscribed reports whether the fake workers have more ranks than this
// machine has processors. Open MPI 4 and 5 compare the ranks of each host with
// that host's slots, and then have waiting ranks yield. Fake hosts share one
// machine, so none of them looks oversubscribed: four ranks of LAMMPS on two
// processors took 6.1 s, and 0.2 s when they yield.
func (c Cluster) oversubscribed() bool {
	ranks := c.Launcher.Slots
	for _, w := range c.Workers {
		ranks += w.Slots
	}
	return c.Processors > 0 && ranks > c.Processors
}

// fakeOpenMPI is what several hosts on 127.0.0.0/8 need.
//
//   - The TCP BTL leaves loopback out by default, so ranks on a machine with
//     nothing else cannot reach each other. It refuses include and exclude
//     lists together.
//   - Open MPI 4's control channel goes to loopback too: no port is open to the
//     network, and an interface that comes or goes does no harm. PRRTE 3 has no
//     such setting that works: its daemons refuse to start on loopback alone,
//     so Open MPI 5 needs one other interface.
//   - han, the collectives of Open MPI 5 for several nodes, takes ranks for
//     neighbours by host name. Fake hosts share one: MPI_Barrier hung 14 times
//     of 14 with 5.0.11, and without han 0 times of 17.
func fakeOpenMPI() []Var {
	return []Var{
		{Name: "OMPI_MCA_btl_tcp_if_include", Value: loopback,
			Why: "fake hosts are on loopback, which the TCP transport leaves out",
			Or:  []string{"OMPI_MCA_btl_tcp_if_exclude"}},
		{Name: "OMPI_MCA_oob_tcp_if_include", Value: loopback,
			Why: "the control channel of fake hosts stays on loopback (Open MPI 4)",
			Or:  []string{"OMPI_MCA_oob_tcp_if_exclude"}},
		{Name: "OMPI_MCA_coll", Value: "^han",
			Why: "fake hosts share one host name, by which han finds neighbours: MPI_Barrier hangs (Open MPI 5)"},
	}
}
