package launch

import (
	"strconv"
	"strings"

	"github.com/musterhq/muster/exec/wire"
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

// sharedCores tells whether workers may run on the same processors, by their
// nodes and by the lists in their answers. Daemons that each bind their first
// rank to their first core would then all sit on one core (measured: 40 times
// slower).
//
// A list that holds CPU 0 is the node's common pool: the kubelet's static
// policy, which gives processors to one pod alone, always keeps CPU 0 back.
// Other jobs' pods may then be there too, so one worker per node is no proof.
func sharedCores(ranked []rendezvous.Worker, welcomes map[string]wire.WelcomeRecord) bool {
	taken := map[string]map[int]bool{} // node -> CPU
	for _, w := range ranked {
		cpus, ok := parseCPUs(welcomes[w.Name].CPUSet)
		if !ok || cpus[0] {
			return true
		}
		if taken[w.Node] == nil {
			taken[w.Node] = map[int]bool{}
		}
		for cpu := range cpus {
			if taken[w.Node][cpu] {
				return true
			}
			taken[w.Node][cpu] = true
		}
	}
	return false
}

// parseCPUs reads Linux's list form, "0-3,8"; ok is false for an empty or
// malformed one.
func parseCPUs(list string) (cpus map[int]bool, ok bool) {
	const most = 1 << 16
	cpus = map[int]bool{}
	for _, part := range strings.Split(list, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err1 := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if err1 != nil || err2 != nil || from < 0 || to < from || to >= most {
			return nil, false
		}
		for cpu := from; cpu <= to; cpu++ {
			cpus[cpu] = true
		}
	}
	return cpus, true
}
