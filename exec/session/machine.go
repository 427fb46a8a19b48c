//go:build linux

package session

import (
	"encoding/json"
	"fmt"
	"net"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/wire"
)

// Limits that keep WELCOME within a record. On a node's own network, the interfaces of all pods are
// visible, and an interface of IPVS has an address for each Service.
const (
	mostInterfaces = 64
	mostAddresses  = 64                 // of the worker
	mostOfOne      = 8                  // addresses of an interface
	mostListed     = wire.MaxRecord / 8 // bytes of JSON of all interfaces
)

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
		if len(one.Addresses) > 0 {
			out = append(out, one)
		}
	}
	return fitting(out)
}

// fitting returns the interfaces that fit into a WELCOME, each with its first addresses.
func fitting(all []wire.Interface) (out []wire.Interface) {
	room := mostListed
	for _, one := range all {
		one.Addresses = one.Addresses[:min(len(one.Addresses), mostOfOne)]
		text, err := json.Marshal(one)
		if err != nil || len(out) == mostInterfaces || len(text)+len(",") > room {
			continue
		}
		room -= len(text) + len(",")
		out = append(out, one)
	}
	return out
}

// addresses lists the worker's own addresses, without loopback and link-local ones.
func addresses() []string {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	return own(list)
}

// own returns the first addresses of a list that are neither loopback nor link-local.
func own(list []net.Addr) (out []string) {
	for _, a := range list {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() && !n.IP.IsLinkLocalUnicast() && len(out) < mostAddresses {
			out = append(out, n.IP.String())
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
