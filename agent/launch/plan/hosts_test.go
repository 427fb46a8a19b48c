package plan

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous"
)

func TestHostsOf(t *testing.T) {
	got := hostsOf([]rendezvous.Worker{
		{Name: "pi-worker-0", IP: "10.0.0.1", Hostname: "pi-worker-0"},
		{Name: "pi-worker-1", IP: "10.0.0.2", Hostname: "pi-worker-1", Slots: 4},
		{Name: "pi-worker-2", IP: "192.168.0.7", Hostname: "pi-worker-2", HostNetwork: true},
		{Name: "pi-worker-3", IP: "192.168.0.8", Hostname: "a"},
		{Name: "pi-worker-4", IP: "192.168.0.8", Hostname: "b"},
		{Name: "pi-worker-5"},
	}, 2)
	require.Equal(t, []Host{
		{0, "pi-worker-0", "10.0.0.1", "10.0.0.1", 2},
		{1, "pi-worker-1", "10.0.0.2", "10.0.0.2", 4},
		{2, "pi-worker-2", "pi-worker-2", "192.168.0.7", 2},
		{3, "pi-worker-3", "a", "192.168.0.8", 2},
		{4, "pi-worker-4", "b", "192.168.0.8", 2},
		{5, "pi-worker-5", "pi-worker-5", "", 2},
	}, got)
}

func TestSharedCores(t *testing.T) {
	workers := []rendezvous.Worker{{Name: "a", Node: "n1"}, {Name: "b", Node: "n1"}, {Name: "c", Node: "n2"}}
	for name, tc := range map[string]struct {
		a, b, c string
		want    bool
	}{
		"exclusive sets":         {"2-3", "4-5", "2-3", false},
		"overlap on one node":    {"2-4", "4-5", "2-3", true},
		"the node's common pool": {"2-3", "4-5", "0-7", true},
		"only CPU 0":             {"2-3", "4-5", "0", true},
		"CPU 10, not CPU 0":      {"2-3", "4-5", "10,12", false},
		"unknown":                {"2-3", "4-5", "", true},
	} {
		welcomes := map[string]wire.WelcomeRecord{"a": {CPUSet: tc.a}, "b": {CPUSet: tc.b}, "c": {CPUSet: tc.c}}
		require.Equal(t, tc.want, sharedCores(Situation{Ranked: workers, Welcomes: welcomes}), name)
	}
	require.False(t, sharedCores(Situation{}))
}
