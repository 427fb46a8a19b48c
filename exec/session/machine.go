//go:build linux

package session

import (
	"fmt"
	"net"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/wire"
)

// mostInterfaces keeps WELCOME within a record, on nodes where the interfaces of all pods are
// visible.
const mostInterfaces = 64

// interfaces lists the interfaces that are up and have an address. It omits link-local addresses,
// which are useless without a zone.
func interfaces() []wire.Interface {
	list, err := net.Interfaces()
	if err != nil {
		return nil
	}
	var out []wire.Interface
	for _, i := range list {
		addrs, err := i.Addrs()
		if err != nil || i.Flags&net.FlagUp == 0 {
			continue
		}
		one := wire.Interface{Name: i.Name}
		for _, a := range addrs {
			if n, ok := a.(*net.IPNet); ok && !n.IP.IsLinkLocalUnicast() {
				one.Addresses = append(one.Addresses, n.IP.String())
			}
		}
		if len(one.Addresses) > 0 && len(out) < mostInterfaces {
			out = append(out, one)
		}
	}
	return out
}

// listCPUs formats a set in Linux's list form.
func listCPUs(set *unix.CPUSet) string {
	out := ""
	for i, seen, n := 0, 0, set.Count(); seen < n; i++ {
		if !set.IsSet(i) {
			continue
		}
		first := i
		for set.IsSet(i + 1) {
			i++
		}
		seen += i - first + 1
		if out != "" {
			out += ","
		}
		if out += fmt.Sprint(first); i > first {
			out += fmt.Sprintf("-%d", i)
		}
	}
	return out
}
