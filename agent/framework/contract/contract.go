package contract

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/framework"
)

// Test runs the suite. make returns the framework under test, and stops with t.Cleanup what it
// starts. The command is `python3 train.py`; use [TestCommand] for another one.
func Test(t *testing.T, make func(t *testing.T) framework.Framework) {
	TestCommand(t, []string{"python3", "train.py"}, make)
}

// TestCommand is Test with the command that the framework expects.
func TestCommand(t *testing.T, command []string, make func(t *testing.T) framework.Framework) {
	f := make(t)
	for _, workers := range []int{1, 2, 3} {
		for _, procs := range []int{1, 2, 8} {
			t.Run(fmt.Sprintf("%d workers of %d", workers, procs), func(t *testing.T) {
				c := Cluster(workers, procs, command)
				l, err := f.Prepare(c)
				require.Equal(t, Cluster(workers, procs, command), c, "the cluster was changed")
				require.NoError(t, err)
				again, err := f.Prepare(c)
				require.NoError(t, err)
				require.Equal(t, l, again, "the same cluster, another launch")
				require.NoError(t, framework.Validate(l, c))
				complete(t, l)
				ranks(t, l)
				addresses(t, l, c)
			})
		}
	}
	t.Run("no workers", func(t *testing.T) {
		l, err := f.Prepare(Cluster(0, 1, command))
		require.Error(t, err)
		require.Zero(t, l, "an error with a launch")
		require.NotContains(t, err.Error(), "\n")
	})
}

// Cluster is the cluster that the suite gives to the framework. The workers have addresses from
// 198.18.0.0/15 (RFC 2544, for benchmarks), so that no other address can match.
func Cluster(workers, procs int, command []string) framework.Cluster {
	c := framework.Cluster{
		Job: "pi", Namespace: "lab", RunDir: "/run/muster",
		Launcher: framework.Node{Name: "pi-launcher", Host: "198.18.1.1", IP: "198.18.1.1"},
		Agent:    "/muster/agent", Hostfile: "/etc/mpi/hostfile", HydraHostfile: "/etc/mpi/hydra",
		DiscoverHosts: "/etc/mpi/discover_hosts.sh",
		Interface:     "eth0", NoRDMA: true, NoGPU: true,
		UserEnv: []string{"PATH=/usr/bin:/bin", "HOME=/root", "LANG=C.UTF-8"},
		Command: slices.Clone(command), Procs: procs, Port: 29500,
	}
	for i := range workers {
		ip := fmt.Sprintf("198.18.0.%d", 10+i)
		c.Workers = append(c.Workers, framework.Node{Name: fmt.Sprintf("pi-worker-%d", i), Host: ip, IP: ip, Slots: procs, Index: i, Interface: "eth0"})
	}
	return c
}

// complete requires that the launch starts a process or sets a variable for the user's command, and
// that every process has a role and a command.
func complete(t *testing.T, l framework.Launch) {
	require.True(t, len(l.Processes) > 0 || len(l.Env) > 0, "nothing is started, and nothing is set")
	for i, p := range l.Processes {
		require.NotEmpty(t, p.Role, "process %d", i)
		require.NotEmpty(t, p.Argv, "process %d", i)
		for _, v := range p.Env {
			require.False(t, strings.Contains(v.Value, framework.FilesDir) && len(l.Files) == 0, "%s of process %d: there are no files", v.Name, i)
		}
	}
}

// ranks compares the environment with the processes. It skips processes that start ranks themselves
// (torchrun), because these set the names of ranks.
func ranks(t *testing.T, l framework.Launch) {
	world, local := 0, map[int]int{}
	for _, p := range l.Processes {
		if p.Rank >= 0 {
			world++
			local[p.Worker]++
		}
	}
	for i, p := range l.Processes {
		if p.Rank < 0 {
			continue
		}
		for name, want := range map[string]int{
			"RANK": p.Rank, "WORLD_SIZE": world, "LOCAL_RANK": p.Local, "LOCAL_WORLD_SIZE": local[p.Worker],
		} {
			if got, ok := value(p.Env, name); ok {
				require.Equal(t, strconv.Itoa(want), got, "%s of process %d", name, i)
			}
		}
		_, hasRank := value(p.Env, "RANK")
		_, hasWorld := value(p.Env, "WORLD_SIZE")
		require.Equal(t, hasRank, hasWorld, "process %d has one of RANK and WORLD_SIZE", i)
	}
}

var (
	ipv4 = regexp.MustCompile(`\b\d+\.\d+\.\d+\.\d+\b`)
	// host matches the name of a variable that holds a host, alone or with a port.
	host = regexp.MustCompile(`(?:_ADDR|_HOST|_URI|_ENDPOINT|COORDINATOR_ADDRESS)$`)
)

// addresses requires that each address belongs to the cluster. A host must not be a name, because a
// name may not resolve yet.
func addresses(t *testing.T, l framework.Launch, c framework.Cluster) {
	known := []string{"0.0.0.0", c.Launcher.IP}
	for _, w := range c.Workers {
		known = append(known, w.IP)
	}
	check := func(env []framework.Var) {
		for _, v := range env {
			for _, ip := range ipv4.FindAllString(v.Value, -1) {
				require.Contains(t, known, ip, "%s=%s", v.Name, v.Value)
			}
			if host.MatchString(v.Name) && v.Value != "" {
				name := v.Value
				if h, _, err := net.SplitHostPort(v.Value); err == nil {
					name = h
				}
				require.Contains(t, known, name, "%s=%s", v.Name, v.Value)
			}
		}
	}
	check(l.Env)
	for i, p := range l.Processes {
		check(p.Env)
		if p.After != "" {
			h, _, err := net.SplitHostPort(p.After)
			require.NoError(t, err)
			require.Contains(t, known, h, "process %d waits for %s", i, p.After)
		}
	}
}

func value(env []framework.Var, name string) (string, bool) {
	for _, v := range env {
		if v.Name == name {
			return v.Value, true
		}
	}
	return "", false
}
