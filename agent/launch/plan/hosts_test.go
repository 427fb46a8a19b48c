package plan

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/config"
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
		{Index: 0, Name: "pi-worker-0", Host: "10.0.0.1", IP: "10.0.0.1", Slots: 2},
		{Index: 1, Name: "pi-worker-1", Host: "10.0.0.2", IP: "10.0.0.2", Slots: 4},
		{Index: 2, Name: "pi-worker-2", Host: "pi-worker-2", IP: "192.168.0.7", Slots: 2},
		{Index: 3, Name: "pi-worker-3", Host: "a", IP: "192.168.0.8", Slots: 2},
		{Index: 4, Name: "pi-worker-4", Host: "b", IP: "192.168.0.8", Slots: 2},
		{Index: 5, Name: "pi-worker-5", Host: "pi-worker-5", IP: "", Slots: 2},
	}, got)
}

// TestOrder checks which runs order their ranks by topology.
func TestOrder(t *testing.T) {
	at := func(index int, zone string, change func(*rendezvous.Worker)) rendezvous.Worker {
		w := rendezvous.Worker{Name: "w-" + string(rune('0'+index)), Index: index, Labels: map[string]string{"topology.kubernetes.io/zone": zone, "rack": "r"}}
		if change != nil {
			change(&w)
		}
		return w
	}
	for name, tc := range map[string]struct {
		cfg    config.Config
		change func(*rendezvous.Worker)
		want   string
	}{
		"default":         {want: "0 2 1"},
		"none":            {cfg: config.Config{Selection: config.Selection{TopologyKeys: []string{"none"}}}, want: "0 1 2"},
		"other keys":      {cfg: config.Config{Selection: config.Selection{TopologyKeys: []string{"rack"}}}, want: "0 1 2"},
		"elastic":         {cfg: config.Config{Selection: config.Selection{LeastWorkers: 2}}, want: "0 1 2"},
		"roles":           {cfg: config.Config{Launching: config.Launching{Roles: "chief=1,worker=2"}}, want: "0 1 2"},
		"compat":          {cfg: config.Config{Launching: config.Launching{Compat: "kubeflow-v1"}}, want: "0 1 2"},
		"roles by labels": {change: func(w *rendezvous.Worker) { w.Role = "worker" }, want: "0 1 2"},
		"place by Kueue":  {change: func(w *rendezvous.Worker) { w.Given = w.Index + 1 }, want: "0 1 2"},
	} {
		var got []string
		for _, w := range Order(tc.cfg, []rendezvous.Worker{at(0, "a", tc.change), at(1, "b", tc.change), at(2, "a", tc.change)}) {
			got = append(got, strconv.Itoa(w.Index))
		}
		require.Equal(t, tc.want, strings.Join(got, " "), name)
	}
}

// TestOrderOfSeats checks that a spare has the rank of the worker that it replaced, if its node is in the same zone.
// Otherwise the ranks of a zone stay neighbors.
func TestOrderOfSeats(t *testing.T) {
	at := func(index int, zone string) rendezvous.Worker {
		return rendezvous.Worker{Index: index, Labels: map[string]string{"topology.kubernetes.io/zone": zone}}
	}
	for name, tc := range map[string]struct {
		seats []rendezvous.Worker
		want  string
	}{
		"no spare took part": {[]rendezvous.Worker{at(0, "a"), at(1, "b"), at(2, "a")}, "0 2 1"},
		"in the same zone":   {[]rendezvous.Worker{at(0, "a"), at(3, "a"), at(2, "a")}, "0 3 2"},
		"in the other zone":  {[]rendezvous.Worker{at(0, "a"), at(3, "b"), at(2, "a")}, "0 2 3"},
		"for the first one":  {[]rendezvous.Worker{at(3, "b"), at(1, "a"), at(2, "b")}, "3 2 1"},
	} {
		var got []string
		for _, w := range Order(config.Config{Selection: config.Selection{Spares: 1}}, tc.seats) {
			got = append(got, strconv.Itoa(w.Index))
		}
		require.Equal(t, tc.want, strings.Join(got, " "), name)
	}
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
