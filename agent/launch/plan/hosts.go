package plan

import (
	"slices"
	"strings"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/hostfile"
	"github.com/musterhq/muster/rendezvous"
)

// Host is one worker in the hostfile.
type Host struct {
	Index int    `json:"index"` // rank among the workers, from 0
	Name  string `json:"name"`  // pod name
	Host  string `json:"host"`  // the name or address for mpirun
	IP    string `json:"ip"`
	Slots int    `json:"slots"`
	Node  string `json:"node,omitempty"`
	// Domain is the finest topology label that is known of the worker's node.
	Domain string `json:"domain,omitempty"`
	// Interface is the network interface that processes on the worker use; "": none is known. Why
	// says why, and which other interfaces the worker has.
	Interface string `json:"interface,omitempty"`
	Why       string `json:"interfaceReason,omitempty"`
}

// Order returns the workers in the order of their ranks: by topology, or by index for runs without
// topology keys and for workers that already have a place (see [config.Config.RankKeys]). It
// depends only on the workers, so ranks stay the same until a worker is replaced.
func Order(c config.Config, workers []rendezvous.Worker) []rendezvous.Worker {
	keys := c.RankKeys()
	if slices.ContainsFunc(workers, func(w rendezvous.Worker) bool { return w.Role != "" || w.Given > 0 }) {
		keys = nil
	}
	switch {
	case len(keys) == 0:
		return workers
	case c.Spares > 0:
		return rendezvous.SeatsByTopology(workers, keys)
	}
	return rendezvous.ByTopology(workers, keys)
}

// hostsOf names ranked workers for mpirun. By default it uses their addresses, because a name that
// does not resolve costs mpirun half a second. Pods on their node's network go by host name. Two
// workers that share an address do so too, because mpirun would take them for one host.
func hostsOf(ranked []rendezvous.Worker, slots int) []Host {
	shares := map[string]int{}
	for _, w := range ranked {
		shares[w.IP]++
	}
	hosts := make([]Host, 0, len(ranked))
	for i, w := range ranked {
		h := Host{Index: i, Name: w.Name, Host: w.IP, IP: w.IP, Slots: slots, Node: w.Node}
		if w.HostNetwork || w.IP == "" || shares[w.IP] > 1 {
			h.Host = w.Hostname
		}
		if h.Host == "" {
			h.Host = w.Name
		}
		if w.Slots > 0 {
			h.Slots = w.Slots
		}
		hosts = append(hosts, h)
	}
	return hosts
}

// All returns the hosts for mpirun. The launcher comes first if it takes ranks.
func (p Plan) All() []Host {
	if p.Own == nil {
		return p.Hosts
	}
	return append([]Host{*p.Own}, p.Hosts...)
}

// HostfileLines converts hosts for a hostfile.
func HostfileLines(hosts []Host) []hostfile.Host {
	list := make([]hostfile.Host, 0, len(hosts))
	for _, h := range hosts {
		list = append(list, hostfile.Host{Name: h.Host, Slots: h.Slots})
	}
	return list
}

// ownRanks returns an error for ranks in the launcher if nothing would start them there.
func ownRanks(c config.Config, l framework.Launch) error {
	if c.LauncherSlots > 0 && (len(l.Processes) > 0 || len(l.Argv) > 0 || l.Shims) {
		return failure.Usage("omit --launcher-slots, or start each pod by itself: agent join --workers=N",
			"--launcher-slots=%d: only mpirun starts ranks in the launcher, not %s", c.LauncherSlots, c.Command[0])
	}
	return nil
}

// sharedCores reports whether workers may compute on the same processors as each other or as
// another pod; see framework.SharedCores.
//
// A worker does not know which processors of its machine are online. But a list with CPU 0 is the
// node's common pool: the kubelet's static policy, which gives processors to one pod alone, always
// keeps CPU 0 back.
func sharedCores(s Situation) bool {
	type one struct{ node, set string }
	var all []one
	for _, w := range s.Ranked {
		all = append(all, one{w.Node, s.Welcomes[w.Name].CPUSet})
	}
	if s.Config.LauncherSlots > 0 {
		all = append(all, one{"", s.Machine.CPUs}) // the node is unknown
	}
	places := make([]framework.Place, 0, len(all))
	for _, w := range all {
		set := w.set
		first, _, _ := strings.Cut(set, ",")
		first, _, _ = strings.Cut(first, "-")
		if set == "" || first == "0" {
			return true
		}
		places = append(places, framework.Place{Node: w.node, CPUSet: set})
	}
	return framework.SharedCores(places)
}
