package framework_test

import (
	"encoding/json"
	"maps"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/framework"
)

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func variables(env []framework.Var) map[string]string {
	m := map[string]string{}
	for _, v := range env {
		m[v.Name] = v.Value
	}
	return m
}

// TestLaunchesAreValid checks that every launch passes the same validation as a plugin's launch.
func TestLaunchesAreValid(t *testing.T) {
	each(t, func(t *testing.T, c framework.Cluster, l framework.Launch) {
		require.NoError(t, framework.Validate(l, c))
		for _, p := range append(l.Processes, framework.Process{Env: l.Env}) {
			for _, v := range p.Env {
				if framework.LooksSecret(v.Name) {
					require.Fail(t, "the name is masked, but users must see what was set", v.Name)
				}
				if strings.HasSuffix(v.Why, ".") {
					require.Fail(t, "the reason ends with a period", v.Name)
				}
			}
		}
	})
}

// TestRanksAgree checks that the variables of all frameworks agree: ranks are 0 to n-1, and every
// process gets n, under the names of each framework.
func TestRanksAgree(t *testing.T) {
	pairs := map[string]string{
		"RANK": "WORLD_SIZE", "LOCAL_RANK": "LOCAL_WORLD_SIZE", "GROUP_RANK": "GROUP_WORLD_SIZE",
		"JAX_PROCESS_ID": "JAX_NUM_PROCESSES", "PADDLE_TRAINER_ID": "PADDLE_TRAINERS_NUM", "PADDLE_LOCAL_RANK": "PADDLE_LOCAL_SIZE",
		"PADDLE_RANK": "PADDLE_NNODES", "DMLC_TASK_ID": "DMLC_NUM_WORKER", "DMLC_WORKER_ID": "DMLC_NUM_WORKER",
		"PET_NODE_RANK": "PET_NNODES",
	}
	global := []string{"RANK", "JAX_PROCESS_ID", "PADDLE_TRAINER_ID", "PADDLE_RANK", "DMLC_TASK_ID", "DMLC_WORKER_ID", "PET_NODE_RANK"}
	seen := map[string]bool{}
	each(t, func(t *testing.T, _ framework.Cluster, l framework.Launch) {
		got := map[string][]int{}
		for _, p := range l.Processes {
			env := variables(p.Env)
			for rank, size := range pairs {
				value, there := env[rank]
				if !there {
					continue
				}
				seen[rank] = true
				r, err := strconv.Atoi(value)
				require.NoError(t, err)
				n, err := strconv.Atoi(env[size])
				require.NoError(t, err, "%s without %s", rank, size)
				require.Less(t, r, n, "%s=%d of %s=%d", rank, r, size, n)
				got[rank] = append(got[rank], r)
				if slices.Contains(global, rank) && rank != "PADDLE_RANK" && rank != "PET_NODE_RANK" {
					require.Equal(t, p.Rank, r, rank)
				}
			}
		}
		for _, rank := range global {
			all := slices.Sorted(slices.Values(got[rank]))
			for i, r := range all {
				require.Equal(t, i, r, "%s: %v", rank, all)
			}
			for _, p := range l.Processes {
				if env := variables(p.Env); env[rank] != "" {
					require.Equal(t, strconv.Itoa(len(all)), env[pairs[rank]], "%s is not the number of processes with %s", pairs[rank], rank)
				}
			}
		}
	})
	for rank := range pairs {
		require.True(t, seen[rank], "no variant has %s", rank)
	}
}

// listening returns the variables with an endpoint or a port of the process itself.
func listening(c framework.Cluster, p framework.Process) []string {
	env := variables(p.Env)
	address := c.Workers[p.Worker].IP
	var own []string
	if e := env["PADDLE_CURRENT_ENDPOINT"]; e != "" {
		own = append(own, e)
	}
	for _, name := range []string{"LIGHTGBM_LOCAL_LISTEN_PORT", "PADDLE_PORT"} {
		if port := env[name]; port != "" {
			own = append(own, net.JoinHostPort(address, port))
		}
	}
	if text := env["TF_CONFIG"]; text != "" {
		var config struct {
			Cluster map[string]json.RawMessage
			Task    struct {
				Type  string
				Index int
			}
		}
		if json.Unmarshal([]byte(text), &config) == nil {
			var list []string
			if json.Unmarshal(config.Cluster[config.Task.Type], &list) == nil {
				own = append(own, list[config.Task.Index])
			}
			var sparse map[string]string
			if json.Unmarshal(config.Cluster[config.Task.Type], &sparse) == nil {
				own = append(own, sparse[strconv.Itoa(config.Task.Index)])
			}
		}
	}
	return own
}

// TestPortsDiffer checks that no two processes listen on the same address and port, even if workers
// share the host network. The rendezvous uses another port. All ports belong to the attempt.
func TestPortsDiffer(t *testing.T) {
	listeners := 0
	check := func(t *testing.T, c framework.Cluster, l framework.Launch) {
		taken := map[string]int{}
		for i, p := range l.Processes {
			for _, endpoint := range listening(c, p) {
				j, twice := taken[endpoint]
				require.False(t, twice, "processes %d and %d listen at %s", j, i, endpoint)
				taken[endpoint] = i
				listeners++
				require.Equal(t, c.Workers[p.Worker].IP, must(t, endpoint).Addr().String())
			}
			env := variables(p.Env)
			for _, name := range []string{"PADDLE_MASTER", "JAX_COORDINATOR_ADDRESS", "PET_RDZV_ENDPOINT"} {
				_, twice := taken[env[name]]
				require.False(t, twice, "%s=%s", name, env[name])
			}
		}
	}
	each(t, check)
	for name, v := range variants() {
		change := v.change
		v.change = func(c *framework.Cluster) {
			if change != nil {
				change(c)
			}
			oneAddress(c)
		}
		t.Run(name+" on one node", func(t *testing.T) {
			if c, l, err := v.prepare(t, 3, 8); err == nil {
				check(t, c, l)
			}
		})
	}
	require.Greater(t, listeners, 100)
}

func must(t *testing.T, endpoint string) netip.AddrPort {
	ap, err := netip.ParseAddrPort(endpoint)
	require.NoError(t, err)
	return ap
}

// endpoints matches address:port; an IPv6 address is in brackets.
var endpoints = regexp.MustCompile(`(\d+\.\d+\.\d+\.\d+|\[[0-9a-f:]+\]):(\d+)`)

// TestHostsAreWorkers checks that every host with a port in a variable is a worker's address, and
// every port belongs to the attempt.
func TestHostsAreWorkers(t *testing.T) {
	found := 0
	each(t, func(t *testing.T, c framework.Cluster, l framework.Launch) {
		var known []string
		for _, w := range c.Workers {
			known = append(known, w.IP)
		}
		for _, p := range l.Processes {
			for _, v := range p.Env {
				for _, m := range endpoints.FindAllStringSubmatch(v.Value, -1) {
					found++
					port, err := strconv.Atoi(m[2])
					require.NoError(t, err)
					require.Contains(t, known, m[1], "%s=%s", v.Name, v.Value)
					require.True(t, c.Port <= port && port < c.Port+framework.PortBlock, "%s=%s", v.Name, v.Value)
				}
				for _, w := range c.Workers {
					if strings.Contains(v.Value, w.Name) {
						require.Fail(t, "a name may not resolve", "%s=%s", v.Name, v.Value)
					}
				}
			}
		}
	})
	require.Greater(t, found, 100)
}

// TestAttemptsShareNoPort checks that another attempt has other ports, because the old ones cannot
// be bound for a minute.
func TestAttemptsShareNoPort(t *testing.T) {
	for name, v := range variants() {
		_, first, err := v.prepare(t, 3, 2)
		if err != nil {
			continue
		}
		change := v.change
		v.change = func(c *framework.Cluster) {
			if change != nil {
				change(c)
			}
			c.Port += framework.PortBlock
		}
		_, second, err := v.prepare(t, 3, 2)
		require.NoError(t, err)
		require.Equal(t, len(first.Processes), len(second.Processes))
		for i, p := range first.Processes {
			old := variables(p.Env)
			for _, v := range second.Processes[i].Env {
				if strings.HasSuffix(v.Name, "_PORT") || endpoints.MatchString(v.Value) {
					require.NotEqual(t, old[v.Name], v.Value, "%s: %s", name, v.Name)
				}
			}
		}
	}
}
