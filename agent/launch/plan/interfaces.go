package plan

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/exec/wire"
)

// giveInterfaces sets each worker's network interface: the one that --interface selects, or else
// the one with the worker's address. A worker that has not reported its interfaces gets none,
// unless the user names one. If a worker lacks what the user asks for, the error lists what it has.
func giveInterfaces(s Situation, workers []framework.Node) error {
	for i := range workers {
		w := &workers[i]
		has := s.Welcomes[w.Name].Interfaces
		switch {
		case s.Config.Interface == "": // none for a fake worker: no interface has its address
			w.Interface, _ = holding(has, func(a netip.Addr) bool { return a.String() == w.IP })
		case len(has) == 0 && !strings.Contains(s.Config.Interface, "/"):
			w.Interface = s.Config.Interface // the worker has not been asked yet
		case len(has) > 0:
			name, ok := InterfaceOf(has, s.Config.Interface)
			if !ok {
				return failure.Usage("it has "+listInterfaces(has), "--interface=%s: worker %s has no such interface", s.Config.Interface, w.Name)
			}
			w.Interface = name
		}
	}
	return nil
}

// whyInterface says why a worker uses its network interface, or why it uses none. It returns "" for a
// worker that has not reported its interfaces, unless the user has chosen one.
func whyInterface(s Situation, h Host) string {
	has := s.Welcomes[h.Name].Interfaces
	var others []string
	for _, i := range has {
		if i.Name != h.Interface {
			others = append(others, i.Name)
		}
	}
	also := ""
	if len(others) > 0 {
		also = "; also there: " + strings.Join(others, ", ")
	}
	switch {
	case s.Config.Interface != "" && h.Interface != "":
		return "chosen by --interface=" + s.Config.Interface + also
	case len(has) == 0, s.Machine.Fake: // fake workers use lo
		return ""
	case h.Interface == "":
		return "no interface has the worker's address " + h.IP + "; there are: " + strings.Join(others, ", ")
	}
	return "it has the worker's address " + h.IP + also
}

// InterfaceOf finds an interface by its name, or else by a network that contains one of its
// addresses.
func InterfaceOf(has []wire.Interface, which string) (name string, ok bool) {
	if slices.ContainsFunc(has, func(i wire.Interface) bool { return i.Name == which }) {
		return which, true
	}
	network, err := netip.ParsePrefix(which)
	if err != nil {
		return "", false
	}
	return holding(has, network.Masked().Contains)
}

func holding(has []wire.Interface, is func(netip.Addr) bool) (name string, ok bool) {
	for _, i := range has {
		for _, text := range i.Addresses {
			if a, err := netip.ParseAddr(text); err == nil && is(a.Unmap()) {
				return i.Name, true
			}
		}
	}
	return "", false
}

// listInterfaces formats interfaces as "eth0 (10.0.0.7), lo (127.0.0.1)".
func listInterfaces(has []wire.Interface) string {
	var list []string
	for _, i := range has {
		list = append(list, i.Name+" ("+strings.Join(i.Addresses, ", ")+")")
	}
	return strings.Join(list, ", ")
}
