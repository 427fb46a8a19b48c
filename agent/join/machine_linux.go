package join

import (
	"net"
	"os"
	"path/filepath"

	"github.com/musterhq/muster/exec/proc"
	"github.com/musterhq/muster/rendezvous/barrier"
)

// cardOf returns the card of this member.
func (c Config) cardOf(instance string) barrier.Card {
	card := barrier.Card{Rank: c.Rank, Name: c.PodName, Host: c.Host, Address: c.PodIP, Slots: c.Slots,
		Instance: instance, Job: c.meets, Size: c.Workers, Settings: c.settings(), Interface: c.Interface,
		NoRDMA: proc.NoRDMA("/sys/class"), NoGPU: proc.NoGPU("/dev")}
	if card.Interface == "" && card.Address != "" {
		card.Interface = interfaceOf(card.Address)
	}
	return card
}

// interfaceOf returns the network interface with an address, or "".
func interfaceOf(address string) string {
	list, err := net.Interfaces()
	if err != nil {
		return ""
	}
	for _, i := range list {
		addresses, err := i.Addrs()
		if err != nil {
			continue
		}
		for _, a := range addresses {
			if n, ok := a.(*net.IPNet); ok && n.IP.Equal(net.ParseIP(address)) {
				return i.Name
			}
		}
	}
	return ""
}

// ownPath returns the path of this binary.
func ownPath() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	return filepath.Clean(path)
}
