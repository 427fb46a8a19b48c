package plan

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous"
)

// podsOf returns a situation of pods with these roles as labels. Each pod has the interfaces lo,
// eth0 and eth1.
func podsOf(cfg config.Config, roles ...string) Situation {
	s := Situation{Config: cfg, Port: AnyPort(cfg.Port, rand.IntN), Welcomes: map[string]wire.WelcomeRecord{}, Dir: "/run/m", Broker: "/run/m/broker.sock", Agent: "/muster/agent",
		Files: Files{Hostfile: "/run/m/hostfile", Hydra: "/run/m/hostfile.hydra", Rsh: "/run/m/rsh"}}
	for i, role := range roles {
		name, ip := "pi-worker-"+string(rune('0'+i)), "10.0.0."+string(rune('1'+i))
		s.Ranked = append(s.Ranked, rendezvous.Worker{Name: name, IP: ip, Index: i, Role: role, GPUs: 2})
		s.Welcomes[name] = wire.WelcomeRecord{NoRDMA: true, Interfaces: []wire.Interface{{Name: "lo", Addresses: []string{"127.0.0.1", "::1"}},
			{Name: "eth0", Addresses: []string{ip}}, {Name: "eth1", Addresses: []string{"192.168.7." + string(rune('1'+i)), "fd00::1"}}}}
	}
	return s
}

func clusterIn(t *testing.T, s Situation) framework.Cluster {
	t.Helper()
	c, err := clusterOf(s, hostsOf(s.Ranked, 1))
	require.NoError(t, err)
	return c
}

func TestRoles(t *testing.T) {
	for name, tc := range map[string]struct {
		flag   string
		labels []string
		want   string
	}{
		"no roles":         {"", []string{"", "", ""}, ":0 :0 :0"},
		"flag":             {"chief=1,worker=2", []string{"", "", ""}, "chief:0 worker:0 worker:1"},
		"labels":           {"", []string{"Master", "Worker", "Worker"}, "master:0 worker:0 worker:1"},
		"some labels":      {"", []string{"", "PS", ""}, "worker:0 ps:0 worker:1"},
		"flag over labels": {"ps=1,worker=2", []string{"master", "worker", "worker"}, "ps:0 worker:0 worker:1"},
	} {
		var got []string
		for _, w := range clusterIn(t, podsOf(config.Config{Launching: config.Launching{Roles: tc.flag}}, tc.labels...)).Workers {
			got = append(got, w.Role+":"+string(rune('0'+w.RoleIndex)))
		}
		require.Equal(t, tc.want, strings.Join(got, " "), name)
	}
	s := podsOf(config.Config{Launching: config.Launching{Roles: "chief=1,worker=3"}}, "", "")
	_, err := clusterOf(s, hostsOf(s.Ranked, 1))
	require.Equal(t, names.ExitUsage, failure.CodeOf(err))
}

func TestInterfaces(t *testing.T) {
	for flag, want := range map[string]string{"": "eth0", "eth1": "eth1", "192.168.0.0/16": "eth1", "10.0.0.0/24": "eth0", "fd00::/8": "eth1", "lo": "lo"} {
		c := clusterIn(t, podsOf(config.Config{Launching: config.Launching{Interface: flag}}, "", ""))
		require.Equal(t, want, c.Workers[0].Interface, flag)
		require.Equal(t, want, c.Workers[1].Interface, flag)
	}
	s := podsOf(config.Config{Launching: config.Launching{Interface: "eth1"}}, "", "")
	second := s.Welcomes["pi-worker-1"]
	second.Interfaces = second.Interfaces[:2]
	s.Welcomes["pi-worker-1"] = second
	_, err := clusterOf(s, hostsOf(s.Ranked, 1))
	require.EqualError(t, err, "--interface=eth1: worker pi-worker-1 has no such interface")
	require.Equal(t, names.ExitUsage, failure.CodeOf(err))
	var f *failure.Failure
	require.ErrorAs(t, err, &f)
	require.Equal(t, "it has lo (127.0.0.1, ::1), eth0 (10.0.0.2)", f.Hint())

	delete(s.Welcomes, "pi-worker-1")
	require.Equal(t, "eth1", clusterIn(t, s).Workers[1].Interface, "a worker that was not asked yet is assumed to have it")
	s.Config.Interface = ""
	require.Empty(t, clusterIn(t, s).Workers[1].Interface)
}

// TestWhyAnInterface checks the sentence about each worker's interface.
func TestWhyAnInterface(t *testing.T) {
	for name, tc := range map[string]struct {
		flag   string
		change func(*Situation)
		want   string
	}{
		"by address":                {want: "eth0: it has the worker's address 10.0.0.1; also there: lo, eth1"},
		"by the user":               {flag: "192.168.0.0/16", want: "eth1: chosen by --interface=192.168.0.0/16; also there: lo, eth0"},
		"fake":                      {change: func(s *Situation) { s.Machine.Fake = true }, want: "eth0: "},
		"none":                      {change: func(s *Situation) { s.Ranked[0].IP = "10.9.9.9" }, want: ": no interface has the worker's address 10.9.9.9; there are: lo, eth0, eth1"},
		"not reported":              {change: func(s *Situation) { s.Welcomes = nil }, want: ": "},
		"not reported, by the user": {flag: "ib0", change: func(s *Situation) { s.Welcomes = nil }, want: "ib0: chosen by --interface=ib0"},
	} {
		s := podsOf(config.Config{Command: []string{"./a"}, Launching: config.Launching{Interface: tc.flag, Framework: "plain"}}, "")
		if tc.change != nil {
			tc.change(&s)
		}
		p, err := Make(s)
		require.NoError(t, err, name)
		require.Equal(t, tc.want, p.Hosts[0].Interface+": "+p.Hosts[0].Why, name)
	}
}

func TestDevicesOfWorkers(t *testing.T) {
	s := podsOf(config.Config{}, "", "")
	c := clusterIn(t, s)
	require.True(t, c.NoRDMA)
	require.Equal(t, 2, c.Workers[1].GPUs)
	delete(s.Welcomes, "pi-worker-1")
	require.False(t, clusterIn(t, s).NoRDMA, "a worker that does not report may have a device")
}

func TestProcesses(t *testing.T) {
	s := podsOf(config.Config{Launching: config.Launching{Framework: "torch", ProcsPerWorker: 2, Env: []string{"A=b", "WORLD_SIZE=9"}, Port: 25000}, Command: []string{"python", "t.py"}}, "", "")
	s.Ranked[1].Env = []string{"MASTER_ADDR=mine", "LOCAL_RANK=0"}
	plan, err := Make(s)
	require.NoError(t, err)
	require.Len(t, plan.Processes, 4)
	require.Equal(t, 4, plan.Ranks())
	last := plan.Processes[3]
	require.Equal(t, "rank 3", last.Label)
	require.Equal(t, 1, last.Worker)
	env := last.Environment(s.Config, Assigned{})
	require.Contains(t, env, "RANK=3")
	require.Contains(t, env, "MUSTER_ATTEMPT=0")
	require.Contains(t, env, "GLOO_SOCKET_IFNAME=eth0")
	require.Contains(t, env, "WORLD_SIZE=9")
	require.NotContains(t, env, "WORLD_SIZE=4")
	require.NotContains(t, env, "LOCAL_RANK=1", "the value of the pod takes precedence")
	require.Contains(t, plan.Processes[1].Environment(s.Config, Assigned{}), "LOCAL_RANK=1")
	require.Len(t, plan.Warnings, 3, "one warning for each name: %q", plan.Warnings)
	require.Contains(t, strings.Join(plan.Warnings, "\n"), `MASTER_ADDR="mine" is set and kept in place of "10.0.0.1"`)

	s.Config.OnlyRanks = "0,4"
	_, err = Make(s)
	require.EqualError(t, err, "--only-ranks=0,4: there is no rank 4")
	s.Config.OnlyRanks, s.Config.Success = "", "chief"
	_, err = Make(s)
	require.Equal(t, names.ExitUsage, failure.CodeOf(err))
}

// TestSettleWithFiles checks that search paths extend the worker's own paths, and that each worker
// uses its own directory of files.
func TestSettleWithFiles(t *testing.T) {
	p := Plan{Processes: []Process{
		{Worker: 0, ours: []*framework.Var{{Name: "PYTHONPATH", Value: framework.FilesDir, Extend: ":"}}},
		{Worker: 1, ours: []*framework.Var{{Name: "PYTHONPATH", Value: framework.FilesDir, Extend: ":"}, {Name: "CONF", Value: framework.FilesDir + "/x.json"}}},
	}}
	require.Equal(t, []string{"PYTHONPATH"}, p.Extended())
	warnings := p.SettleProcesses(config.Config{}, [][]string{{"PYTHONPATH=/image"}, nil}, []string{"/a", "/b"})
	require.Empty(t, warnings)
	require.Equal(t, []string{"PYTHONPATH=/a:/image"}, p.Processes[0].Environment(config.Config{}, Assigned{}))
	require.Equal(t, []string{"PYTHONPATH=/b", "CONF=/b/x.json"}, p.Processes[1].Environment(config.Config{}, Assigned{}))
}

// TestRequiredRDMAMakesNCCLPrint checks that --require-rdma makes NCCL name its network, on the workers
// and in the launcher, and that the user's own value is kept.
func TestRequiredRDMAMakesNCCLPrint(t *testing.T) {
	for _, framework := range []string{"plain", "mpi"} {
		cfg := config.Config{Command: []string{"./a"}, Selection: config.Selection{Slots: 1}, Launching: config.Launching{Framework: framework, RequireRDMA: true}}
		p, err := Make(podsOf(cfg, "", ""))
		require.NoError(t, err)
		set, _ := p.Merge(nil)
		if len(p.Processes) > 0 {
			set = p.Processes[1].Environment(cfg, Assigned{})
		}
		require.Contains(t, set, "NCCL_DEBUG=INFO", framework)
		cfg.RequireRDMA = false
		if p, err = Make(podsOf(cfg, "", "")); len(p.Processes) > 0 {
			set = p.Processes[1].Environment(cfg, Assigned{})
		} else {
			set, _ = p.Merge(nil)
		}
		require.NoError(t, err)
		require.NotContains(t, set, "NCCL_DEBUG=INFO", framework)
	}
	cfg := config.Config{Command: []string{"./a"}, Launching: config.Launching{Framework: "plain", RequireRDMA: true, Env: []string{"NCCL_DEBUG=WARN"}}}
	p, err := Make(podsOf(cfg, "", ""))
	require.NoError(t, err)
	require.NotContains(t, p.Processes[0].Environment(cfg, Assigned{}), "NCCL_DEBUG=INFO")
	require.Contains(t, strings.Join(p.Warnings, ""), `NCCL_DEBUG="WARN" is set and kept in place of "INFO"`)
}
