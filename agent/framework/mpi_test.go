package framework

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func workers(slots ...int) []Node {
	var nodes []Node
	for i, n := range slots {
		ip := "10.0.0." + string(rune('1'+i))
		nodes = append(nodes, Node{Name: "w-" + string(rune('0'+i)), Host: ip, IP: ip, Slots: n, Index: i})
	}
	return nodes
}

func pods() Cluster {
	return Cluster{
		Job: "pi", Namespace: "ns", RunDir: "/run/m", Workers: workers(2, 2),
		Agent: "/etc/mpi/kubexec.sh", Hostfile: "/etc/mpi/hostfile", HydraHostfile: "/run/m/hosts.hydra",
		Interface: "eth0",
	}
}

func assignments(vars []Var) []string {
	var out []string
	for _, v := range vars {
		out = append(out, v.Name+"="+v.Value)
	}
	return out
}

var podEnv = []string{
	"OMPI_MCA_plm_rsh_agent=/etc/mpi/kubexec.sh",
	"PRTE_MCA_plm_ssh_agent=/etc/mpi/kubexec.sh",
	"OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile",
	"PRTE_MCA_prte_default_hostfile=/etc/mpi/hostfile",
	"OMPI_MCA_plm_rsh_no_tree_spawn=1",
	"PRTE_MCA_plm_ssh_no_tree_spawn=1",
	"OMPI_MCA_plm_rsh_num_concurrent=128",
	"PRTE_MCA_plm_ssh_num_concurrent=128",
	"OMPI_MCA_odls_base_max_threads=0",
	"PRTE_MCA_odls_base_max_threads=0",
	"OMPI_MCA_orte_keep_fqdn_hostnames=0",
	"PRTE_MCA_prte_keep_fqdn_hostnames=0",
	"HYDRA_LAUNCHER=rsh",
	"HYDRA_LAUNCHER_EXEC=/etc/mpi/kubexec.sh",
	"HYDRA_HOST_FILE=/run/m/hosts.hydra",
	"HYDRA_IFACE=eth0",
	"MPIR_CVAR_CH4_CMA_ENABLE=0",
	"I_MPI_HYDRA_BOOTSTRAP=rsh",
	"I_MPI_HYDRA_BOOTSTRAP_EXEC=/etc/mpi/kubexec.sh",
	"I_MPI_HYDRA_HOST_FILE=/run/m/hosts.hydra",
	"I_MPI_HYDRA_BRANCH_COUNT=0",
	"I_MPI_PERHOST=2",
	"I_MPI_HYDRA_IFACE=eth0",
}

// TestPrepareForPods checks the complete environment of a job in pods, in order.
func TestPrepareForPods(t *testing.T) {
	launch, err := MPI{}.Prepare(pods())
	require.NoError(t, err)
	require.Equal(t, podEnv, assignments(launch.Env))
	require.Empty(t, launch.Warnings)
}

// TestPrepareDifferences checks what each fact about the cluster adds to that environment or
// removes from it.
func TestPrepareDifferences(t *testing.T) {
	for name, tc := range map[string]struct {
		change         func(*Cluster)
		added, removed []string
	}{
		"root": {
			change: func(c *Cluster) { c.Root = true },
			added:  []string{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"},
		},
		"no home": {
			change: func(c *Cluster) { c.Home = "/run/m" },
			added:  []string{"HOME=/run/m"},
		},
		"empty home": {
			change: func(c *Cluster) { c.Home, c.UserEnv = "/run/m", []string{"HOME="} },
			added:  []string{"HOME=/run/m"},
		},
		"the user's home": {
			change: func(c *Cluster) { c.Home, c.UserEnv = "/run/m", []string{"HOME=/root"} },
		},
		"no /tmp": {
			change: func(c *Cluster) { c.Temp = "/run/m/tmp" },
			added:  []string{"TMPDIR=/run/m/tmp"},
		},
		"no /tmp, but the user's TMPDIR": {
			change: func(c *Cluster) { c.Temp, c.UserEnv = "/run/m/tmp", []string{"TMPDIR=/scratch"} },
		},
		"shared cores": {
			change: func(c *Cluster) { c.SharedCores = true },
			added: []string{"OMPI_MCA_hwloc_base_binding_policy=none", "PRTE_MCA_hwloc_default_binding_policy=none",
				"PMIX_MCA_mca_base_suppress_deprecated_warning=1", "I_MPI_PIN=0"},
		},
		"unknown interface": {
			change:  func(c *Cluster) { c.Interface = "" },
			removed: []string{"HYDRA_IFACE=eth0", "I_MPI_HYDRA_IFACE=eth0"},
		},
		"200 workers": {
			change:  func(c *Cluster) { c.Workers = workers(make3(200)...) },
			added:   []string{"OMPI_MCA_plm_rsh_num_concurrent=200", "PRTE_MCA_plm_ssh_num_concurrent=200", "I_MPI_PERHOST=3"},
			removed: []string{"OMPI_MCA_plm_rsh_num_concurrent=128", "PRTE_MCA_plm_ssh_num_concurrent=128", "I_MPI_PERHOST=2"},
		},
		"slots differ": {
			change:  func(c *Cluster) { c.Workers = workers(4, 1, 3) },
			added:   []string{"I_MPI_PERHOST=1"},
			removed: []string{"I_MPI_PERHOST=2"},
		},
		"fake": {
			change: func(c *Cluster) { c.Fake, c.Interface = true, "" },
			added: []string{
				"OMPI_MCA_hwloc_base_binding_policy=none", "PRTE_MCA_hwloc_default_binding_policy=none",
				"PMIX_MCA_mca_base_suppress_deprecated_warning=1",
				"OMPI_MCA_btl_tcp_if_include=127.0.0.0/8", "OMPI_MCA_oob_tcp_if_include=127.0.0.0/8",
				"OMPI_MCA_coll=^han", "HYDRA_IFACE=lo", "I_MPI_HYDRA_IFACE=lo", "I_MPI_PIN=0",
			},
			removed: []string{"MPIR_CVAR_CH4_CMA_ENABLE=0", "HYDRA_IFACE=eth0", "I_MPI_HYDRA_IFACE=eth0"},
		},
		"too few processors in a cluster": {
			change: func(c *Cluster) { c.Processors = 1 },
		},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := pods()
			tc.change(&cluster)
			launch, err := MPI{}.Prepare(cluster)
			require.NoError(t, err)
			got := assignments(launch.Env)
			require.ElementsMatch(t, tc.added, without(got, podEnv))
			require.ElementsMatch(t, tc.removed, without(podEnv, got))
		})
	}
}

// TestYieldWhenOversubscribed checks that waiting ranks of fake workers yield if and only if there
// are more ranks than processors.
func TestYieldWhenOversubscribed(t *testing.T) {
	for _, tc := range []struct {
		slots                []int
		launcher, processors int
		yield                bool
	}{
		{[]int{1, 1}, 0, 2, false},
		{[]int{1, 1}, 1, 2, true},
		{[]int{1, 1, 1, 1}, 0, 2, true},
		{[]int{2, 2}, 0, 2, true},
		{[]int{2, 2}, 0, 4, false},
		{[]int{1, 1, 1, 1}, 0, 0, false},
	} {
		c := pods()
		c.Fake, c.Workers, c.Launcher.Slots, c.Processors = true, workers(tc.slots...), tc.launcher, tc.processors
		launch, err := OpenMPI{}.Prepare(c)
		require.NoError(t, err)
		require.Equal(t, tc.yield, slices.Contains(assignments(launch.Env), "OMPI_MCA_mpi_yield_when_idle=1"), "%+v", tc)
	}
}

func make3(n int) []int {
	slots := make([]int, n)
	for i := range slots {
		slots[i] = 3
	}
	return slots
}

func without(list, drop []string) []string {
	dropped := map[string]bool{}
	for _, s := range drop {
		dropped[s] = true
	}
	var out []string
	for _, s := range list {
		if !dropped[s] {
			out = append(out, s)
		}
	}
	return out
}

// TestPrepareNamesAreUniqueAndExplained checks that every variable is set once and has a reason,
// and that Prepare does not change the given cluster.
func TestPrepareNamesAreUniqueAndExplained(t *testing.T) {
	cluster := pods()
	cluster.Fake, cluster.Root, cluster.SharedCores, cluster.Home = true, true, true, "/h"
	first, err := MPI{}.Prepare(cluster)
	require.NoError(t, err)
	again, err := MPI{}.Prepare(cluster)
	require.NoError(t, err)
	require.Equal(t, first, again)

	seen := map[string]bool{}
	for _, v := range append(first.Env, FakeWorker("/w")...) {
		require.False(t, seen[v.Name], v.Name)
		seen[v.Name] = true
		require.NotEmpty(t, v.Why, v.Name)
		require.False(t, strings.HasSuffix(v.Why, "."), v.Name)
	}
}

func TestPrepareRefuses(t *testing.T) {
	for want, change := range map[string]func(*Cluster){
		"prepare mpi: no workers":                   func(c *Cluster) { c.Workers = nil },
		`worker "w-1" has host "10.0.0.2" and 0 sl`: func(c *Cluster) { c.Workers = workers(2, 0) },
		`has host ""`:                         func(c *Cluster) { c.Workers = []Node{{Slots: 1}} },
		`"/a b/agent" must be absolute`:       func(c *Cluster) { c.Agent = "/a b/agent" },
		`"/a:b" must be absolute`:             func(c *Cluster) { c.Agent = "/a:b" },
		`agent path "agent" must be absolute`: func(c *Cluster) { c.Agent = "agent" },
	} {
		t.Run(want, func(t *testing.T) {
			cluster := pods()
			change(&cluster)
			launch, err := MPI{}.Prepare(cluster)
			require.ErrorContains(t, err, want)
			require.Empty(t, launch.Env)
		})
	}
}

func TestUnequalSlotsWarnUsersOfIntelMPI(t *testing.T) {
	cluster := pods()
	cluster.Workers = workers(4, 1, 3)
	cluster.UserEnv = []string{"I_MPI_ROOT=/opt/intel"}
	launch, err := MPI{}.Prepare(cluster)
	require.NoError(t, err)
	require.Equal(t, []string{"Intel MPI uses one number of ranks for all hosts, but workers have 1 to 4 slots: each gets 1; " +
		"mpirun -machinefile /run/m/hosts.hydra uses the slots of each worker"}, launch.Warnings)

	cluster.Workers = workers(3, 3)
	launch, err = MPI{}.Prepare(cluster)
	require.NoError(t, err)
	require.Empty(t, launch.Warnings)
}

func TestFakeWorkersDoNotCollide(t *testing.T) {
	a, b := FakeWorker("/tmp/x/1"), FakeWorker("/tmp/x/2")
	require.Equal(t, []string{
		"TMPDIR=/tmp/x/1",
		"OMPI_MCA_btl_vader_backing_directory=/tmp/x/1",
		"OMPI_MCA_btl_sm_backing_directory=/tmp/x/1",
	}, assignments(a))
	for i := range a {
		require.Equal(t, a[i].Name, b[i].Name)
		require.NotEqual(t, a[i].Value, b[i].Value)
	}
	launch, err := MPI{}.Prepare(Cluster{Fake: true, Workers: workers(1), Agent: "/a"})
	require.NoError(t, err)
	for _, v := range launch.Env {
		require.NotContains(t, v.Name, "backing_directory", "one value for all hosts makes fake workers collide")
	}
}

func TestShellOfAUserWithoutOne(t *testing.T) {
	for _, c := range []struct {
		name    string
		noShell bool
		env     []string
		want    string
	}{
		{"a shell", false, nil, ""},
		{"no shell", true, nil, "/bin/bash"},
		{"no shell, SHELL empty", true, []string{"SHELL="}, "/bin/bash"},
		{"no shell, SHELL set by the user", true, []string{"SHELL=/bin/zsh"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ""
			for _, v := range common(Cluster{NoPasswd: c.noShell, UserEnv: c.env}) {
				if v.Name == "SHELL" {
					got = v.Value
				}
			}
			require.Equal(t, c.want, got)
		})
	}
}
