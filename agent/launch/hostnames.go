package launch

import (
	"strings"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/rendezvous"
)

// Host is one worker as it stands in the hostfile.
type Host struct {
	Index int    `json:"index"` // rank among the workers, from 0
	Name  string `json:"name"`  // pod name
	Host  string `json:"host"`  // what mpirun calls it
	IP    string `json:"ip"`
	Slots int    `json:"slots"`
}

// hostsOf names ranked workers for mpirun. By default by their addresses: a
// name that does not resolve costs mpirun half a second each. Pods on their
// node's network go by host name, and so do two that share an address, since
// mpirun would take them for one host.
func hostsOf(ranked []rendezvous.Worker, slots int) []Host {
	shares := map[string]int{}
	for _, w := range ranked {
		shares[w.IP]++
	}
	hosts := make([]Host, 0, len(ranked))
	for i, w := range ranked {
		h := Host{Index: i, Name: w.Name, Host: w.IP, IP: w.IP, Slots: slots}
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

// sharedCores tells whether workers may compute on the same processors as each
// other or as a stranger; see framework.SharedCores.
//
// A worker does not know which processors its machine has online, but a list
// that holds CPU 0 is the node's common pool: the kubelet's static policy, which
// gives processors to one pod alone, always keeps CPU 0 back.
func sharedCores(s situation) bool {
	type one struct{ node, set string }
	var all []one
	for _, w := range s.ranked {
		all = append(all, one{w.Node, s.welcomes[w.Name].CPUSet})
	}
	if s.cfg.LauncherSlots > 0 {
		all = append(all, one{"", ownCPUs()}) // whose node is not known
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
